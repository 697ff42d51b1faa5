import { slotOfText } from '@quotadb/cluster';
import { ByteInput, Engine, joinInt64 } from '@quotadb/engine';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, cellName } from '@quotadb/rate';
import { expect, test } from 'vitest';
import { countEntries, type MovingQuotas } from './received-entries.js';
import { EntryKind, readEntries, type SlotEntry, writeEntry } from './slot-entries.js';
import { SlotKeys } from './slot-keys.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const quotas: MovingQuotas = {
  describe: () => undefined,
  adopt: () => {},
  openSubjects: () => [],
  returnUnspent: () => {},
  policiesVersion: () => 7,
};
const newEngine = (origin: number) =>
  Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    origin: new Uint8Array(32).fill(origin),
    nowMs: NOW_MS,
    growOnlyPrefixes: ['grow:'],
  });

const entryOf = (name: string | Uint8Array, value: bigint, at = 0): SlotEntry => ({
  ...{ kind: EntryKind.key, name: Buffer.from(name), value, at, startMs: 0, endMs: 0 },
});

function readKey(engine: Engine, name: string | Uint8Array): readonly [bigint, number] | undefined {
  const key = Buffer.from(name);
  const exists = engine.open(ByteInput.copyOf(key), 0, key.length);
  const value = [joinInt64(engine.valueHigh, engine.valueLow), engine.expiresAtMs] as const;
  engine.close();
  return exists ? value : undefined;
}

function add(engine: Engine, name: string | Uint8Array, amount: number, expiresAtMs = 0): void {
  const key = Buffer.from(name);
  engine.open(ByteInput.copyOf(key), 0, key.length);
  engine.add(amount < 0 ? -1 : 0, amount | 0);
  if (expiresAtMs !== 0) engine.expireAt(expiresAtMs);
  engine.close();
}

test('entries are read as they were written', () => {
  const entries = [
    entryOf('a', -5n),
    entryOf('b', 2n ** 62n, NOW_MS),
    { ...entryOf('\x01pq', 3n), kind: EntryKind.allotment, endMs: 9 },
  ];
  const read = readEntries(Buffer.concat(entries.map(writeEntry)));
  expect(read.map((entry) => ({ ...entry, name: Buffer.from(entry.name).toString() }))).toEqual(
    entries.map((entry) => ({ ...entry, name: Buffer.from(entry.name).toString() })),
  );
});

test.each([
  ['a header that ends', Buffer.alloc(10)],
  ['another kind', writeEntry({ ...entryOf('a', 1n), kind: 9 as EntryKind })],
  ['a name longer than the message', writeEntry(entryOf('abc', 1n)).subarray(0, 38)],
  ['no name', writeEntry(entryOf('', 1n))],
  ['a time that is none', writeEntry(entryOf('a', 1n, Number.NaN))],
  ['a negative use', writeEntry({ ...entryOf('\x01pq', -3n), kind: EntryKind.allotment, endMs: 9 })],
  ['too many bytes', Buffer.alloc(1024 * 1024)],
])('a message with %s is refused', (_, message) => {
  expect(() => readEntries(message)).toThrow();
});

test('a slot is sent with values and expiries, counted elsewhere as they were, and dropped', async () => {
  const [from, to] = [newEngine(1), newEngine(2)];
  add(from, '{x}one', 5);
  add(from, '{x}two', -7, NOW_MS + 60_000);
  add(from, 'grow:{x}', 3);
  add(from, 'elsewhere', 1);
  const slot = slotOfText('x');
  const slots = [{ first: slot, last: slot }];
  const keys = new SlotKeys(from, quotas, () => NOW_MS);
  expect((await keys.choose(slots, 1)).batch).toEqual(slots);
  // Made after the names were collected.
  add(from, '{x}late', 9);
  await keys.catchUp();
  const sent = await keys.send(slots, async (entries) => countEntries(to, quotas, entries, (at) => at === slot, []));
  expect(sent.keys).toBe(4);
  expect(readKey(to, '{x}one')).toEqual([5n, 0]);
  expect(readKey(to, '{x}two')).toEqual([-7n, NOW_MS + 60_000]);
  expect(readKey(to, '{x}late')).toEqual([9n, 0]);
  expect(readKey(to, 'grow:{x}')).toEqual([3n, 0]);
  await keys.drop(slots, () => true);
  for (const name of ['{x}one', '{x}two', '{x}late', 'grow:{x}']) expect(readKey(from, name)).toBeUndefined();
  expect(readKey(from, 'elsewhere')).toEqual([1n, 0]);
});

test.each([
  ['a limit', '\0QDlapi\0subject'],
  ['a limit, of a subject with a hash tag', '\0QDlapi\0other{subject}'],
  ["a counter of Envoy's", '\0QDesubject'],
])('the cells of %s are in the slot of its subject, and move with it', async (_, text) => {
  const identifier = Buffer.from(text);
  const [from, to] = [newEngine(1), newEngine(2)];
  const slot = slotOfText('subject');
  const slots = [{ first: slot, last: slot }];
  const expiresAtMs = NOW_MS + 60_000;
  const window = cellName(CellKind.window, 60_000, NOW_MS, identifier);
  const rate = cellName(CellKind.rate, 60_000, NOW_MS, identifier);
  const bucketOf = (engine: Engine) => {
    const bucket = cellName(CellKind.bucket, 60_000, 10, identifier);
    const node = engine.origins.idOf(0).subarray(16, 16 + BUCKET_HEADER_BYTES - CELL_HEADER_BYTES);
    return Buffer.concat([bucket.subarray(0, CELL_HEADER_BYTES), node, bucket.subarray(CELL_HEADER_BYTES)]);
  };
  for (const [name, amount] of [
    [window, 3],
    [rate, 4],
    [bucketOf(from), 5],
  ] as const)
    add(from, name, amount, expiresAtMs);
  const keys = new SlotKeys(from, quotas, () => NOW_MS);
  const members = [new SlotKeys(to, quotas, () => NOW_MS).marks(1)];
  await keys.choose(slots, 1);
  const isMeant = (at: number) => at === slot;
  await keys.send(slots, async (entries) => countEntries(to, quotas, entries, isMeant, members));
  expect(readKey(to, window)).toEqual([3n, expiresAtMs]);
  expect(readKey(to, rate)).toEqual([4n, expiresAtMs]);
  expect(readKey(to, bucketOf(to))).toEqual([5n, expiresAtMs]);
  await keys.drop(slots, () => true);
  expect(from.keyCount()).toBe(0);
});

test('a key of a slot that does not move, and a key of the server itself, are refused with nothing counted', () => {
  const engine = newEngine(1);
  const slot = slotOfText('a');
  const isMeant = (at: number) => at === slot;
  const message = Buffer.concat([entryOf('a', 1n), entryOf('b', 1n)].map(writeEntry));
  expect(() => countEntries(engine, quotas, message, isMeant, [])).toThrow(/does not move to this server now/);
  const reserved = writeEntry(entryOf('\0QDBmxxxx', 1n));
  expect(() => countEntries(engine, quotas, reserved, () => true, [])).toThrow();
  expect(engine.keyCount()).toBe(0);
});

test('a server that does not know the policies of another does not move its tokens: they would be minted', () => {
  const keys = new SlotKeys(newEngine(1), quotas, () => NOW_MS);
  const marks = keys.marks(1);
  expect(marks.policies).toBe(7);
  expect(keys.covers(marks)).toBe(true);
  expect(keys.covers({ ...marks, policies: 8 })).toBe(false);
});
