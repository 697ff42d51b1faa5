import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pendingChange } from '../../testing/pending-change.js';
import { MAX_KNOWN_ITEMS, MAX_QUEUED_CHANGES, MAX_WRITE_ITEMS } from './bounds.js';
import { ChangeQueue, type GroupedWrite } from './change-queue.js';
import type { PendingChange } from './pending-change.js';

const add = (itemId: string, key?: string, deadlineMs?: number) =>
  pendingChange(itemId, { kind: 'add', amount: 1n }, deadlineMs, key);
const assign = (itemId: string) => pendingChange(itemId, { kind: 'assign', value: 0n });
const NONE: ReadonlySet<PendingChange> = new Set();

test('changes of one item leave in the order in which they came, whatever is sent again and whatever expires', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('push' as const), item: fc.nat(3), assign: fc.boolean(), keyed: fc.boolean() }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('release' as const), which: fc.nat(5), sendAgain: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = new ChangeQueue();
      const pushed: PendingChange[] = [];
      const done: PendingChange[] = [];
      const flying: GroupedWrite[] = [];
      const finish = (write: GroupedWrite, sendAgain: boolean) => {
        const all = write.groups.flat();
        if (!sendAgain) done.push(...all);
        queue.release(write.groups, sendAgain ? new Set(all) : NONE);
      };
      const take = () => {
        const write = queue.take();
        if (write === undefined) return false;
        const items = flying.concat(write).flatMap(({ groups }) => groups.map((group) => group[0]!.itemId));
        expect(new Set(items).size).toBe(items.length);
        expect(write.groups.flat().every(({ request }) => (request !== undefined) === write.keyed)).toBe(true);
        flying.push(write);
        return true;
      };
      for (const each of steps) {
        if (each.do === 'push') {
          const itemId = `item-${each.item}`;
          const pending = each.assign ? assign(itemId) : add(itemId, each.keyed ? 'key' : undefined);
          pushed.push(pending);
          queue.push(pending);
        } else if (each.do === 'take') {
          take();
        } else if (flying.length > 0) {
          finish(flying.splice(each.which % flying.length, 1)[0]!, each.sendAgain);
        }
      }
      for (const write of flying.splice(0)) finish(write, false);
      while (take()) finish(flying.pop()!, false);
      expect(queue.isEmpty).toBe(true);
      for (const itemId of new Set(pushed.map((pending) => pending.itemId))) {
        const ofItem = (list: PendingChange[]) => list.filter((pending) => pending.itemId === itemId);
        expect(ofItem(done)).toEqual(ofItem(pushed));
      }
    }),
  );
});

test('a write is bounded, and the changes it leaves come next', () => {
  const queue = new ChangeQueue();
  for (let index = 0; index < MAX_WRITE_ITEMS + 1; index++) queue.push(add(`item-${index}`));
  expect(queue.take()!.groups).toHaveLength(MAX_WRITE_ITEMS);
  expect(queue.take()!.groups).toHaveLength(1);
  expect(queue.take()).toBeUndefined();
});

test('the queue says when it is full', () => {
  const queue = new ChangeQueue();
  for (let index = 0; index < MAX_QUEUED_CHANGES; index++) queue.push(add('item'));
  expect(queue.isFull).toBe(true);
  queue.take();
  expect(queue.isFull).toBe(false);
});

test('items that have nothing to do are forgotten when there are too many, those in flight are not', () => {
  const queue = new ChangeQueue();
  queue.push(add('flies'));
  const flying = queue.take()!;
  for (let index = 0; index < MAX_KNOWN_ITEMS + 10; index++) {
    queue.push(add(`item-${index}`));
    queue.release(queue.take()!.groups, NONE);
  }
  const again = add('flies');
  queue.push(again);
  queue.release(flying.groups, NONE);
  expect(queue.isEmpty).toBe(false);
  const left = queue.take()!;
  expect(left.groups.flat()).toEqual([again]);
  queue.release(left.groups, NONE);
  expect(queue.isEmpty).toBe(true);
});

test('changes that waited past their deadlines are taken out, and those in flight stay', () => {
  const queue = new ChangeQueue();
  const flying = add('item', undefined, 10);
  queue.push(flying);
  const write = queue.take()!;
  const late = add('item', undefined, 20);
  const intime = add('item', undefined, 30);
  queue.push(late);
  queue.push(intime);
  expect(queue.takeExpired(25)).toEqual([late]);
  queue.release(write.groups, NONE);
  expect(queue.take()!.groups).toEqual([[intime]]);
});

test('a group that could not be applied as a whole comes back in halves until one change is alone', () => {
  const queue = new ChangeQueue();
  for (let index = 0; index < 4; index++) queue.push(add('item'));
  const lengths: number[] = [];
  for (;;) {
    const { groups } = queue.take()!;
    lengths.push(groups[0]!.length);
    if (groups[0]!.length === 1) break;
    queue.halve(groups[0]!);
    queue.release(groups, new Set(groups[0]));
  }
  expect(lengths).toEqual([4, 2, 1]);
});
