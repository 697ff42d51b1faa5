import { expect, test } from 'vitest';
import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import type { MapStore } from '../store/map-store.js';
import { nodeIdOf } from '../view/node-id.js';
import { Mover } from './mover.js';
import type { Marks } from './ports.js';
import { planMove, setPaused } from './steps.js';

const member = (port: number) => ({ region: 'eu', host: 'h', port });
const planned = planMove(
  { revision: 1, groups: { a: { slots: '0-99', members: [member(1)] }, b: { members: [member(2)] } } },
  [{ first: 0, last: 9 }],
  'b',
);

/** A mover of `a` on a store in memory; `reading` is asked before every read of the map. */
function start(reading: (document: MapDocument) => MapDocument) {
  let document: MapDocument = planned;
  let version = 1;
  const done: string[] = [];
  const marks: Marks = { revision: 1000, origin: 'me', seen: { me: [1] }, policies: 0, busy: [] };
  const ids = ['a', 'b'].map((group) => nodeIdOf({ group, region: 'eu', name: '' }));
  const store = {
    read: async () => {
      document = reading(document);
      return { document, version };
    },
    replace: async (before: { version: number } | undefined, next: MapDocument) => {
      if (before?.version !== version) return false;
      document = next;
      version++;
      return true;
    },
    members: async () => new Map(ids.map((id) => [id, { revision: 1000 }])),
    lock: async () => ({ isHeld: true, release: async () => {} }),
  };
  const slots = [{ first: 0, last: 9 }];
  const mover = new Mover({
    own: { group: 'a', region: 'eu', name: '' },
    store: store as unknown as MapStore,
    map: () => mapOf(document),
    clock: { now: () => 0, sleep: async () => {} },
    peers: {
      marksOf: async () => marks,
      prepare: async () => void done.push('emptied'),
      send: async () => void done.push('sent'),
      finish: async () => {},
    },
    source: {
      choose: async () => ({ batch: slots, collected: slots }),
      catchUp: async () => 0,
      covers: () => true,
      send: async (_, send) => {
        await send(new Uint8Array(1));
        return { keys: 1, bytes: 1 };
      },
      drop: async () => {},
      marks: () => marks,
    },
  });
  return { mover, done, document: () => document };
}

/** Found by the simulator: every increment of such slots was there twice. */
test('slots of which something was sent are emptied again, where the store does not answer at the end of a hold', async () => {
  let reads = 0;
  const { mover, done } = start((document) => {
    if (++reads === 3) throw new Error('the store does not answer');
    return document;
  });
  await expect(mover.step()).rejects.toThrow('does not answer');
  await mover.step();
  await mover.step();
  expect(done).toEqual(['emptied', 'sent', 'emptied', 'sent']);
});

test('a hold outlives changes of other parts of the map, and goes back when an operator pauses', async () => {
  const grown = (map: MapDocument) => ({ ...map, revision: map.revision + 1 });
  const busy = start(grown);
  await busy.mover.step();
  expect(busy.document().groups.b?.slots).toEqual(['0-9']);
  const paused = start((map) => (map.moves?.[0]?.held === undefined ? map : setPaused(map, true)));
  await paused.mover.step();
  await paused.mover.step();
  expect(paused.document().moves).toEqual(planned.moves);
});
