import type { Reply } from './reply.js';

/** The meaning of each number, for commands that reply with a row of numbers: shown to people, never to programs. */
const LIMIT = ['allowed', 'limit', 'remaining', 'ms until the window ends', 'ms until it is worth trying again'];
const STANDING = ['remaining here', 'remaining everywhere', 'ms until the window ends'];
const RETRY = 'ms until it is worth trying again';
const WINDOW = ['count', 'start of the window, ms', 'its end, ms'];

export const replyLabels: Readonly<Record<string, readonly string[]>> = {
  INCREX: ['value', 'added'],
  'WINDOW.INCRBY': WINDOW,
  'WINDOW.GET': WINDOW,
  'RATE.LIMIT': LIMIT,
  'RATE.PEEK': LIMIT,
  'RATE.ADD': LIMIT,
  'RATE.GCRA': ['allowed', 'limit', 'remaining', 'ms until the bucket is full', RETRY],
  'LIMIT.CHECK': [...LIMIT, 'denied by'],
  'LIMIT.PEEK': [...LIMIT, 'denied by'],
  'QUOTA.TAKE': ['allowed', ...STANDING, RETRY],
  'QUOTA.PEEK': STANDING,
  'QUOTA.RESERVE': ['allowed', 'reservation', ...STANDING, RETRY],
  'QUOTA.ACQUIRE': ['allowed', 'lease', ...STANDING, RETRY],
  'QUOTA.RENEW': ['renewed', 'ms that it holds', RETRY],
  'QUOTA.COMMIT': ['charged', 'could not be charged'],
};

/** The labels of this reply to this command; undefined where the reply has another number of parts. */
export function labelsOf(command: string, reply: Reply): readonly string[] | undefined {
  const labels = replyLabels[command.toUpperCase()];
  return reply.kind === 'array' && reply.items.length === labels?.length ? labels : undefined;
}
