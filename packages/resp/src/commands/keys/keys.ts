import { isReservedName } from '@quotadb/rate';
import { bytesArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { visibleKeys } from '../../session/permission.js';
import { withAllKeysLocked } from './locked.js';
import { keyFilter } from './match.js';

/** Keys looked at in one step of the walk; the locks are held for the whole of it, as Redis holds everything. */
const STEP_KEYS = 4096;

export const keys = defineCommand({
  name: 'keys',
  arity: 2,
  flags: ['readonly'],
  leavesOutKeys: true,
  group: 'generic',
  summary: 'Returns all keys that match a pattern. Nothing else runs meanwhile: prefer SCAN.',
  since: '1.0.0',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'pattern',
  run: ({ request, reply, engine, client }) => {
    const matches = keyFilter(bytesArgument(request, 1));
    const isVisible = visibleKeys(client);
    const found: Uint8Array[] = [];
    const visit = (key: Uint8Array) => {
      if (isReservedName(key, 0, key.length) || (matches !== undefined && !matches(key))) return;
      if (isVisible === undefined || isVisible(key)) found.push(key);
    };
    withAllKeysLocked(engine, () => {
      let cursor = 0n;
      do {
        cursor = engine.scan(cursor, STEP_KEYS, visit);
      } while (cursor !== 0n);
    });
    reply.array(found.length);
    for (const key of found) reply.bulk(key, 0, key.length);
  },
});
