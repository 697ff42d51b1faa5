import type { Engine } from '@quotadb/engine';
import type { Call } from '../../session/command.js';
import { nameIn } from '../../session/databases.js';
import { defineCommand } from '../../session/define.js';
import { KeyWalk, walkInSlices } from './key-walk.js';

/** Cells of windows and limits, and the keys of other databases, are hidden. */
const ATTEMPTS = 100;

function randomKey(engine: Engine, database: number): Uint8Array | undefined {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const key = engine.randomKey(Math.random());
    const name = key === undefined ? undefined : nameIn(database, key);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** Nearly all keys are hidden: any key of the database, and null only where there is none. */
function findAny(call: Call, database: number): void {
  const found: Uint8Array[] = [];
  const selection = { database, pattern: undefined, isVisible: undefined };
  const bounds = { count: Number.POSITIVE_INFINITY, maximumBytes: 0 };
  const walk = new KeyWalk(0n, selection, bounds, (name) => found.push(name));
  walkInSlices(call, walk, ({ reply }) => {
    if (found.length === 0) reply.nil();
    else reply.bulk(found[0], 0, found[0].length);
  });
}

export const randomkey = defineCommand({
  name: 'randomkey',
  arity: 1,
  flags: ['readonly'],
  group: 'generic',
  summary: 'Returns a random key.',
  since: '1.0.0',
  complexity: 'O(1); O(N) where nearly all of N keys are hidden, and then other clients are served meanwhile',
  run: (call) => {
    const { reply, engine, client } = call;
    const { database } = client;
    if (engine.databaseStats(database).keys === 0) return reply.nil();
    const name = randomKey(engine, database);
    if (name !== undefined) reply.bulk(name, 0, name.length);
    // Inside EXEC no other client is served meanwhile.
    else if (call.executing) reply.nil();
    else findAny(call, database);
  },
});
