import type { Engine } from '@quotadb/engine';
import { isReservedName } from '@quotadb/rate';
import { defineCommand } from '../../session/define.js';

/** Cells of windows and limits are hidden. Where nearly all keys are cells or expired, the command may find none. */
const ATTEMPTS = 100;

function randomKey(engine: Engine): Uint8Array | undefined {
  if (engine.keyCount() === 0) return undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const key = engine.randomKey(Math.random());
    if (key !== undefined && !isReservedName(key, 0, key.length)) return key;
  }
  return undefined;
}

export const randomkey = defineCommand({
  name: 'randomkey',
  arity: 1,
  flags: ['readonly'],
  group: 'generic',
  summary: 'Returns a random key.',
  since: '1.0.0',
  complexity: 'O(1), more where nearly all keys are hidden; bounded',
  run: ({ reply, engine }) => {
    const key = randomKey(engine);
    if (key === undefined) reply.nil();
    else reply.bulk(key, 0, key.length);
  },
});
