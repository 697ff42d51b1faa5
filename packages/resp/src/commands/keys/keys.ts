import { isReservedName } from '@quotadb/rate';
import { replyBytes } from '../../reply/values.js';
import { bytesArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { visibleKeys } from '../../session/permission.js';
import { keyFilter } from './glob.js';

/** Keys visited in one step of the walk; all locks are held for the whole walk, as Redis blocks for it. */
const STEP_KEYS = 4096;

export const keys = defineCommand({
  name: 'keys',
  arity: 2,
  flags: ['readonly'],
  leavesOutKeys: true,
  group: 'generic',
  summary: 'Returns all keys that match a pattern. Blocks all other commands: prefer SCAN.',
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
    engine.lockAll();
    try {
      let cursor = 0n;
      do {
        cursor = engine.scan(cursor, STEP_KEYS, visit);
      } while (cursor !== 0n);
    } finally {
      engine.unlock();
    }
    replyBytes(reply, found);
  },
});
