import fc from 'fast-check';
import type { TestClient } from '../testing/index.js';
import { arbitraryCommand, inspection } from './arbitrary-commands.js';
import { ReplyComparer } from './compare.js';
import { comparableSequence } from './differences.js';
import type { Words } from './words.js';

/** Runs random sequences of commands on two servers until they differ, and says where. */

const MAX_COMMANDS = 40;
const sequence = fc
  .array(arbitraryCommand, { minLength: 1, maxLength: MAX_COMMANDS, size: 'max' })
  .map((commands) => comparableSequence(commands));
const preparation: readonly Words[] = [['DISCARD'], ['SELECT', '0'], ['FLUSHALL']];

export interface Sides {
  readonly redis: TestClient;
  readonly ours: TestClient;
}

/** Sends the commands to both servers; describes the first difference, undefined where there is none. */
export async function firstDifference(sides: Sides, commands: readonly Words[]): Promise<string | undefined> {
  return (await differingReplies(sides, commands))[0];
}

/** The same for all differences. */
export async function differingReplies(sides: Sides, commands: readonly Words[]): Promise<string[]> {
  const [redis, ours] = await Promise.all([sides.redis.send(commands), sides.ours.send(commands)]);
  const comparer = new ReplyComparer();
  return commands.flatMap((command, index) => {
    if (comparer.isSame(command, redis[index], ours[index])) return [];
    const [expected, actual] = [redis[index], ours[index]].map(({ wire }) => JSON.stringify(wire));
    return `${command.map((word) => JSON.stringify(word)).join(' ')}\n  Redis: ${expected}\n  ours:  ${actual}`;
  });
}

/** Throws with the seed and the shortest sequence found, where some sequence gets different replies. */
export async function searchDifferences(sides: Sides, seed: number, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(sequence, async (commands) => {
      const difference = await firstDifference(sides, [...preparation, ...commands, ...inspection]);
      if (difference !== undefined) throw new Error(difference);
    }),
    { seed, numRuns: runs, endOnFailure: false },
  );
}
