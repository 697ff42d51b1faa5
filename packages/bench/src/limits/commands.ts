import { INCREMENT, KEY, type Request } from '../load/request.js';
import { ask } from '../servers/ask.js';
import { CONNECTIONS, KEY_COUNT, loadRound } from './command-load.js';
import type { Contest, ContestSide, Servers } from './contest.js';

const PIPELINES = [1, 16, 64];
const HOUR_MS = '3600000';
const UNREACHED_LIMIT = '1000000000';

const takeOf = (policy: string): Request => [['QUOTA.TAKE', policy, KEY, '1']];
const COMMANDS: Readonly<Record<string, Request>> = {
  INCR: INCREMENT,
  'QUOTA.TAKE': takeOf('commands'),
  'RATE.LIMIT': [['RATE.LIMIT', KEY, UNREACHED_LIMIT, HOUR_MS, '1']],
};

/** What a decision costs beside an increment, on the same server in the same run. */
export async function commands({ quotadb }: Servers): Promise<Contest> {
  const define = (policy: string) => {
    return ask(quotadb.port, 'QUOTA.DEFINE', policy, 'LIMIT', UNREACHED_LIMIT, 'WINDOW', HOUR_MS);
  };
  await define('commands');
  const ofEveryKey = { keys: 'sequential', measureOperations: KEY_COUNT } as const;
  let policies = 0;
  const sides = PIPELINES.flatMap((pipeline): ContestSide[] => {
    const comparedWith = `INCR, pipeline ${pipeline}`;
    const known = Object.entries(COMMANDS).map(([command, request]): ContestSide => {
      const name = `${command}, pipeline ${pipeline}`;
      return {
        name,
        ...(name !== comparedWith && { comparedWith }),
        measure: (seconds, signal) => loadRound(quotadb, request, { pipeline, measureMs: seconds * 1_000 }, signal),
      };
    });
    const first: ContestSide = {
      name: `QUOTA.TAKE, the first of each subject, pipeline ${pipeline}`,
      comparedWith,
      async measure(_seconds, signal) {
        const policy = `first-${++policies}`;
        await define(policy);
        return loadRound(quotadb, takeOf(policy), { pipeline, ...ofEveryKey }, signal);
      },
    };
    return [...known, first];
  });
  // Every key and every subject once: the figures are of those that are there, as nearly all are.
  for (const request of Object.values(COMMANDS)) {
    await loadRound(quotadb, request, { pipeline: 16, ...ofEveryKey }, new AbortController().signal);
  }
  return {
    name: 'commands',
    description:
      `decisions beside INCR on one server with one lane, ${CONNECTIONS} connections, ` +
      `${KEY_COUNT.toLocaleString('en')} keys, limits that are never reached`,
    sides,
  };
}
