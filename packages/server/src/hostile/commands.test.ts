import { commands } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { encodeCommand, TestLane, type TestSession } from '../testing/index.js';

/**
 * No command of a user who is no admin keeps a lane for long, whatever its arguments: the work of one turn is bounded
 * by the bytes of the command, not by the number of keys. Far more than a turn takes, and far less than the attacks
 * took (37 s and 98 s): the time of the processor, which other processes do not change.
 */
const TURN_BOUND_MS = 1000;
const KEYS = 100_000;
const MANY = 5000;

const lane = new TestLane({ maxMemoryBytes: 256 * 1024 * 1024, queryBufferLimitBytes: 64 * 1024 * 1024 });

/** Sends one command; the longest of its turns, in milliseconds of the processor. */
function longestTurn(session: TestSession, bytes: string): number {
  let longest = 0;
  let isFirst = true;
  const { reply } = lane.lane;
  for (;;) {
    const before = process.cpuUsage();
    if (isFirst) session.session.receive(Buffer.from(bytes, 'latin1'));
    else session.session.resume();
    const { user, system } = process.cpuUsage(before);
    isFirst = false;
    longest = Math.max(longest, (user + system) / 1000);
    reply.reset();
    // A command that waits for something else than its turn, such as WAIT, is left waiting.
    if (session.client.closing || (session.session.waitMs !== 0 && !session.session.hasMore)) return longest;
  }
}

const HOSTILE: readonly (readonly [string, (words: string[]) => string[]])[] = [
  ['a very long pattern', (words) => [...words, `[${'z'.repeat(200_000)}]*`]],
  ['the longest pattern', (words) => [...words, '*a'.repeat(511)]],
  ['a class that is long', (words) => [...words, `*[${'z'.repeat(1000)}]`]],
  ['options of a scan', (words) => [...words, '0', 'MATCH', '*a'.repeat(500), 'COUNT', '2147483647']],
  ['repeated options', (words) => [...words, '0', ...Array<string[]>(MANY).fill(['MATCH', '*a*b']).flat()]],
  ['many keys', (words) => [...words, ...Array.from({ length: MANY }, (_, index) => `key:${index}`)]],
  ['many numbers', (words) => [...words, ...Array.from({ length: MANY }, (_, index) => String(index))]],
  ['many names of commands', (words) => [...words, ...Array<string>(MANY).fill('client')]],
  ['the highest number', (words) => [...words, 'a', '9223372036854775807', '9223372036854775807']],
  ['nothing', (words) => words],
];

const all = commands.flatMap((command) => [
  [command.name],
  ...(command.subcommands ?? []).map(({ name }) => [command.name, name]),
]);

test(`of ${all.length} commands with hostile arguments none keeps a lane for long, alone or in a transaction`, () => {
  const filler = lane.open();
  for (let from = 0; from < KEYS; from += 1000) {
    filler.send(Array.from({ length: 1000 }, (_, index) => encodeCommand('SET', `key:${from + index}`, 1)).join(''));
  }
  const slow: string[] = [];
  for (const words of all) {
    // Admins may stop the server anyway.
    if (['flushall', 'flushdb', 'shutdown', 'config', 'debug'].includes(words[0])) continue;
    for (const [title, extend] of HOSTILE) {
      const command = encodeCommand(...extend(words));
      for (const [kind, bytes] of [
        ['alone', command],
        ['in a transaction', `${encodeCommand('MULTI')}${command}${encodeCommand('EXEC')}`],
      ]) {
        const session = lane.open();
        const took = longestTurn(session, bytes);
        session.destroy();
        if (took > TURN_BOUND_MS) slow.push(`${words.join(' ')} with ${title}, ${kind}: ${took} ms`);
      }
    }
  }
  expect(slow).toEqual([]);
  expect(lane.faults).toEqual([]);
});
