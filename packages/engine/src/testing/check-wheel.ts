import { databaseOfRecord } from '../components/reserved.js';
import type { Engine } from '../keys/engine.js';
import { ExpiryWord, Kind } from '../memory/attachments.js';
import { MAX_DATABASES, ShardNumber, ShardWord, WHEEL_LEVELS, WHEEL_SLOTS } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';

/** As wheel.ts lays it out. */
const TICK_MS = 64;

/** Every key with a deadline is in one slot, linked both ways, and that slot is due at the right time. */
export function checkWheel(engine: Engine, shard: number, records: ReadonlySet<number>, problems: string[]): void {
  const { store, generations } = engine;
  const { memory, numbers, attachments } = store;
  const current = numbers[(shard >>> 1) + ShardNumber.wheelTick];
  const armed = new Set<number>();
  for (let slot = 0; slot < WHEEL_LEVELS * WHEEL_SLOTS; slot++) {
    const first = linkAt(memory, shard + ShardWord.wheelHeads + slot);
    const marked = (memory[shard + ShardWord.wheelBitmaps + (slot >>> 5)] & (1 << (slot & 31))) !== 0;
    if (marked !== (first !== 0)) problems.push(`wheel slot ${slot} is marked ${marked}`);
    let before = 0;
    for (let record = first; record !== 0; ) {
      const attachment = attachments.find(record, Kind.expiry);
      if (armed.has(record) || !records.has(record) || attachment === 0) {
        problems.push(`wheel slot ${slot} links ${record}, which is elsewhere or nowhere`);
        break;
      }
      armed.add(record);
      if (attachments.extraOf(attachment) !== slot + 1) problems.push(`${record} does not name wheel slot ${slot}`);
      if (linkAt(memory, attachment + ExpiryWord.previous) !== before)
        problems.push(`${record} does not link back in slot ${slot}`);
      checkTime(slot, current, generations.deadlineOf(shard, record), record, problems);
      before = record;
      record = linkAt(memory, attachment + ExpiryWord.next);
    }
  }
  if (memory[shard + ShardWord.withExpiry] !== armed.size)
    problems.push(`${armed.size} keys are in the wheel, ${memory[shard + ShardWord.withExpiry]} are counted`);
  const databases = new Int32Array(MAX_DATABASES);
  for (const record of armed) databases[databaseOfRecord(memory, record)]++;
  for (const [database, keys] of databases.entries()) {
    const said = memory[shard + ShardWord.databaseWithExpiry + database];
    if (said !== keys) problems.push(`${keys} keys of database ${database} are in the wheel, ${said} are counted`);
  }
  for (const record of records) {
    if (generations.deadlineOf(shard, record) !== Number.POSITIVE_INFINITY && !armed.has(record))
      problems.push(`record ${record} has a deadline and is not in the wheel`);
  }
}

function checkTime(slot: number, current: number, deadlineMs: number, record: number, problems: string[]): void {
  const level = Math.floor(slot / WHEEL_SLOTS);
  const span = WHEEL_SLOTS ** level;
  const due = Math.ceil(deadlineMs / TICK_MS);
  // The first start of this slot that the wheel has not done yet.
  let start = Math.ceil(current / span);
  start = (start + (((((slot % WHEEL_SLOTS) - start) % WHEEL_SLOTS) + WHEEL_SLOTS) % WHEEL_SLOTS)) * span;
  if (level === 0 && start < due) problems.push(`record ${record} would expire early: tick ${start}, due ${due}`);
  if (start > due && start > current) problems.push(`record ${record} would expire late: tick ${start}, due ${due}`);
}
