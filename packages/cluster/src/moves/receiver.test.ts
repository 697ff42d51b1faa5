import { beforeEach, expect, test } from 'vitest';
import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import type { Marks } from './ports.js';
import { Receiver } from './receiver.js';
import { goBack, handOver, holdSlots, planMove } from './steps.js';

const SLOTS = [{ first: 0, last: 9 }];
const member = (port: number, name: string) => ({ region: 'eu', member: name, host: 'h', port });
const planned = planMove(
  {
    revision: 1,
    groups: { a: { slots: '0-99', members: [member(1, 'one')] }, b: { members: [member(2, 'one'), member(3, 'two')] } },
  },
  [{ first: 0, last: 50 }],
  'b',
);
const held = holdSlots(planned, 0, SLOTS);

let document: MapDocument;
let counted: number;
let deletions: number;
/** Of the other member. */
let revision: number;
let emptying: () => Promise<void>;
let receiver: Receiver;

beforeEach(() => {
  document = planned;
  [counted, deletions, revision] = [0, 0, planned.revision];
  emptying = async () => {};
  const marks = (at: number): Marks => ({ revision: at, origin: 'me', seen: { me: [1] }, policies: 0, busy: [] });
  receiver = new Receiver({
    own: { group: 'b', region: 'eu', name: 'one' },
    map: () => mapOf(document),
    marksOf: async () => marks(revision),
    clock: { now: () => 0, sleep: async () => {} },
    sink: {
      empty: async (_, mayGoOn) => {
        await emptying();
        if (!mayGoOn()) throw new Error('stopped');
        deletions++;
      },
      count: () => counted++,
      covers: () => true,
      marks: () => marks(document.revision),
    },
  });
});

test('slots are emptied before they are held, and keys are taken while they are', async () => {
  await receiver.prepare(planned.revision, SLOTS);
  expect(deletions).toBe(1);
  expect(() => receiver.count(held.revision, new Uint8Array(0))).toThrow(
    /of revision 2 here holds no slots since revision 3/,
  );
  document = held;
  receiver.count(held.revision, new Uint8Array(0));
  await receiver.finish(held.revision);
  expect(counted).toBe(1);
});

test('a request of an earlier hold is refused, however late it comes', async () => {
  await receiver.prepare(planned.revision, SLOTS);
  const again = holdSlots(goBack(held, 0), 0, SLOTS);
  for (const later of [goBack(held, 0), again, handOver(held, 0)]) {
    document = later;
    expect(() => receiver.count(held.revision, new Uint8Array(0))).toThrow(/since revision 3/);
    await expect(receiver.finish(held.revision)).rejects.toThrow(/since revision 3/);
  }
  expect(counted).toBe(0);
});

test.each([
  ['held', held],
  ['handed over', handOver(held, 0)],
])('emptying ends where another mover has the slots %s meanwhile', async (_, later) => {
  emptying = async () => {
    document = later;
  };
  await expect(receiver.prepare(planned.revision, SLOTS)).rejects.toThrow('stopped');
  expect(deletions).toBe(0);
});

test('slots are not emptied that do not come, before the map is here, or while another member has an older one', async () => {
  await expect(receiver.prepare(planned.revision, [{ first: 45, last: 55 }])).rejects.toThrow(/do not move to b/);
  await expect(receiver.prepare(planned.revision + 1, SLOTS)).rejects.toThrow(/is not here yet/);
  revision = planned.revision - 1;
  await expect(receiver.prepare(planned.revision, SLOTS)).rejects.toThrow(/a member has the map of revision 1 only/);
  document = held;
  expect(() => receiver.count(held.revision, new Uint8Array(0))).toThrow(/were not emptied here/);
  expect(deletions).toBe(0);
});
