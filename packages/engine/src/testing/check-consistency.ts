import { NoteWord, noteWords } from '../components/dropped-components.js';
import { databaseOfRecord } from '../components/reserved.js';
import type { Engine } from '../keys/engine.js';
import { Attachments, CancelNumber, Kind, SummaryFlag, SummaryNumber, SummaryWord } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { joinInt64 } from '../memory/int64.js';
import { recordWords } from '../memory/key-bytes.js';
import {
  MAX_DATABASES,
  OriginShardNumber,
  OriginShardWord,
  OWN_ORIGIN,
  ShardNumber,
  ShardWord,
} from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import {
  bornOf,
  Component,
  Flag,
  FOREIGN_WORDS,
  isForeign,
  isPresent,
  keyLengthOf,
  keyRecordOf,
  originIndexOf,
  versionOf,
} from '../memory/record.js';
import { checkPages, type Reached } from './check-pages.js';
import { checkStems } from './check-stems.js';
import { checkWheel } from './check-wheel.js';
import { tableNodes } from './table-nodes.js';

/**
 * Walks everything a store holds and reports contradictions: every record in the bucket of its hash, lists
 * linked both ways and in version order, counts, cached sums, digests and pages that agree with the reachable records.
 * Throws with all findings. It orders the lists and brings digests up to date, as any reader of them does.
 */
export function checkConsistency(engine: Engine): void {
  const problems: string[] = [];
  const reached: Reached[] = [];
  engine.lockAll();
  try {
    for (let index = 0; index < engine.shardCount; index++) checkShard(engine, index, problems, reached);
    checkPages(engine, reached, problems);
  } finally {
    engine.unlock();
  }
  if (problems.length > 0) throw new Error(`the store is not consistent:\n${problems.slice(0, 20).join('\n')}`);
}

function checkShard(engine: Engine, index: number, problems: string[], reached: Reached[]): void {
  const { store } = engine;
  const { memory } = store;
  const shard = store.shardAt(index);
  const records = checkTable(engine, shard, problems, reached);
  let counted = 0;
  const databases = new Int32Array(MAX_DATABASES);
  const held = new Map<number, Set<number>>();
  const hold = (origin: number, component: number) => {
    const of = held.get(origin) ?? new Set();
    if (of.has(component)) problems.push(`component ${component} is chained twice`);
    held.set(origin, of.add(component));
  };
  for (const record of records) {
    if ((memory[record + Component.bornHigh] & Flag.counted) !== 0) {
      counted++;
      databases[databaseOfRecord(memory, record)]++;
    }
    if (versionOf(memory, record) !== 0) hold(OWN_ORIGIN, record);
    checkKey(engine, shard, record, problems, reached);
    for (
      let at = engine.generations.firstForeign(record);
      at !== 0;
      at = linkAt(memory, at + Component.foreignSibling)
    ) {
      hold(originIndexOf(memory, at), at);
    }
  }
  if (memory[shard + ShardWord.records] !== records.size)
    problems.push(`shard ${index} holds ${records.size} records and counts ${memory[shard + ShardWord.records]}`);
  if (memory[shard + ShardWord.keys] !== counted)
    problems.push(`shard ${index} has ${counted} counted keys and says ${memory[shard + ShardWord.keys]}`);
  for (const [database, keys] of databases.entries()) {
    const said = memory[shard + ShardWord.databaseKeys + database];
    if (said !== keys) problems.push(`shard ${index} has ${keys} keys of database ${database} and says ${said}`);
  }
  for (let origin = 0; origin < engine.origins.count; origin++) {
    checkList(engine, index, origin, held.get(origin) ?? new Set(), problems);
  }
  for (let note = linkAt(memory, shard + ShardWord.dropped); note !== 0; note = linkAt(memory, note + NoteWord.next)) {
    reached.push({ shard, address: note, words: noteWords(memory[note + NoteWord.keyLength]) });
  }
  checkNotes(engine, index, held.get(OWN_ORIGIN) ?? new Set(), problems);
  checkAttachmentCounts(engine, index, [records, ...held.values()], problems);
  checkWheel(engine, shard, records, problems);
}

/** A change that complete notes lack would never be in the log. */
function checkNotes(engine: Engine, index: number, own: ReadonlySet<number>, problems: string[]): void {
  const { store, lists } = engine;
  const { memory, numbers } = store;
  const shard = store.shardAt(index);
  const from = numbers[(shard >>> 1) + ShardNumber.notedFrom];
  if (!lists.notes.areComplete(shard, from)) return;
  const noted = new Set<number>();
  for (let at = 0; at < memory[shard + ShardWord.noted]; at++) noted.add(lists.notes.at(shard, at));
  if (noted.size !== memory[shard + ShardWord.noted]) problems.push(`shard ${index} has two notes of one component`);
  for (const component of noted)
    if (!own.has(component)) problems.push(`shard ${index} has a note of ${component}, which no key of it holds`);
  for (const component of own)
    if (versionOf(memory, component) > from !== noted.has(component))
      problems.push(`shard ${index}: component ${component} changed and is not noted, or the other way round`);
}

/** An attachment that is not counted is not searched for, and would be kept for ever. */
function checkAttachmentCounts(
  engine: Engine,
  index: number,
  components: readonly ReadonlySet<number>[],
  problems: string[],
): void {
  const { attachments } = engine.store;
  const shard = engine.store.shardAt(index);
  const holders = new Set(components.flatMap((some) => [...some]));
  const counts = new Map<number, number>();
  for (const holder of holders) {
    for (let at = attachments.first(holder); at !== 0; at = attachments.next(at)) {
      const kind = attachments.kindOf(at);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  for (const kind of Object.values(Kind)) {
    const there = counts.get(kind) ?? 0;
    const said = attachments.countOf(shard, kind);
    if (said !== there) problems.push(`shard ${index} has ${there} attachments of kind ${kind} and counts ${said}`);
  }
}

function checkTable(engine: Engine, shard: number, problems: string[], reached: Reached[]): Set<number> {
  const { store } = engine;
  const { memory, table, hash } = store;
  const records = new Set<number>();
  for (const node of tableNodes(store, shard)) {
    if (node.isOverflow) reached.push({ shard, address: node.address, words: node.words });
    for (const record of node.records) {
      if (records.has(record)) problems.push(`record ${record} is in the table twice`);
      records.add(record);
      const key = engine.keyOf(record);
      hash.ofInput(ByteInput.copyOf(key), 0, key.length);
      if (store.shardOfHash() !== shard) problems.push(`record ${record} is in the wrong shard`);
      if (table.find(shard, ByteInput.copyOf(key), 0, key.length) !== record)
        problems.push(`record ${record} is not found by its key`);
    }
  }
  for (const record of records) {
    const length = keyLengthOf(memory, record);
    const words = recordWords(memory, record);
    reached.push({ shard, address: record, words });
    const rest = length & 3;
    const last = memory[record + words - 1];
    if (rest !== 0 && last >>> (rest * 8) !== 0) problems.push(`record ${record} has padding that is not zero`);
  }
  checkStems(engine, shard, records, problems, reached);
  return records;
}

function checkKey(engine: Engine, shard: number, record: number, problems: string[], reached: Reached[]): void {
  const { store, generations } = engine;
  const { memory, attachments } = store;
  const origins = new Set<number>();
  for (let holder = record; holder !== 0; holder = generations.nextComponent(record, holder)) {
    checkAttachments(engine, shard, holder, problems, reached);
    if (holder === record) continue;
    reached.push({ shard, address: holder, words: FOREIGN_WORDS });
    const origin = originIndexOf(memory, holder);
    if (!isForeign(memory, holder)) problems.push(`component ${holder} is chained as foreign and is not`);
    if (linkAt(memory, holder + Component.foreignKey) !== record)
      problems.push(`component ${holder} names another key`);
    if (origins.has(origin)) problems.push(`record ${record} has two components of origin ${origin}`);
    origins.add(origin);
    if (bornOf(memory, holder) > versionOf(memory, holder))
      problems.push(`component ${holder} was born after its last change`);
  }
  const present = isPresent(memory, record);
  if (present && versionOf(memory, record) === 0) problems.push(`record ${record} is present without a version`);
  if (!present && (memory[record + Component.positiveLow] | memory[record + Component.positiveHigh]) !== 0)
    problems.push(`record ${record} has an amount and no generation`);
  const counted = (memory[record + Component.bornHigh] & Flag.counted) !== 0;
  const summary = attachments.find(record, Kind.summary);
  const isUnpublished = attachments.find(record, Kind.unpublished) !== 0;
  if (isUnpublished && (summary !== 0 || versionOf(memory, record) !== 0))
    problems.push(`record ${record} has an unpublished count beside components`);
  if (summary === 0) {
    if (counted !== (present || isUnpublished))
      problems.push(`record ${record} is counted ${counted} and present ${present}`);
    return;
  }
  if (memory[summary + SummaryWord.firstForeign] === 0) problems.push(`record ${record} has a summary of nothing`);
  if (attachments.numberAt(summary, SummaryNumber.holdsUntilMs) <= engine.nowMs) return;
  const { total, generations: alive } = generations.foreignTotal(record);
  const cached = joinInt64(memory[summary + SummaryWord.totalHigh], memory[summary + SummaryWord.totalLow]);
  const flags = attachments.extraOf(summary);
  if ((flags & SummaryFlag.careful) === 0 && generations.needsCare(record))
    problems.push(`record ${record} has a reset, a floor or a passed expiry that its summary does not know of`);
  if ((flags & SummaryFlag.wide) === 0 && cached !== total)
    problems.push(`record ${record} caches ${cached} for others that come to ${total}`);
  if (memory[summary + SummaryWord.generations] !== alive)
    problems.push(`record ${record} caches ${memory[summary + SummaryWord.generations]} generations of ${alive}`);
  if (counted !== (present || alive > 0))
    problems.push(`record ${record} is counted ${counted} with ${alive} generations`);
}

function checkAttachments(engine: Engine, shard: number, holder: number, problems: string[], reached: Reached[]): void {
  const { memory, attachments } = engine.store;
  const cancelled = new Set<string>();
  let before = 0;
  for (let at = attachments.first(holder); at !== 0; at = attachments.next(at)) {
    const kind = attachments.kindOf(at);
    reached.push({ shard, address: at, words: Attachments.wordsOf(kind) });
    if (kind < before || (kind === before && kind !== Kind.cancel))
      problems.push(`component ${holder} has kind ${kind} behind kind ${before}`);
    if (kind === Kind.summary && isForeign(memory, holder)) problems.push(`foreign ${holder} has a summary`);
    if (kind === Kind.cancel) {
      const generation = `${attachments.extraOf(at)}@${attachments.numberAt(at, CancelNumber.born)}`;
      if (cancelled.has(generation)) problems.push(`component ${holder} cancels one generation twice`);
      cancelled.add(generation);
    }
    before = kind;
  }
}

function checkList(engine: Engine, shardIndex: number, origin: number, held: Set<number>, problems: string[]): void {
  const { store, lists, digests } = engine;
  const { memory, numbers } = store;
  const shard = store.shardAt(shardIndex);
  const state = store.originShardAt(origin, shard);
  lists.order(state);
  const name = `list of origin ${origin} in shard ${shardIndex}`;
  let before = 0;
  const linked = new Set<number>();
  for (let at = linkAt(memory, state + OriginShardWord.head); at !== 0; at = linkAt(memory, at + Component.next)) {
    if (linked.has(at)) {
      problems.push(`${name} runs in a circle at ${at}`);
      return;
    }
    linked.add(at);
    if (!held.has(at)) problems.push(`${name} links ${at}, which no key of the shard holds`);
    if (linkAt(memory, at + Component.previous) !== before)
      problems.push(`${name}: ${at} does not link back to ${before}`);
    if (before !== 0 && versionOf(memory, before) >= versionOf(memory, at)) problems.push(`${name} is out of order`);
    if (keyRecordOf(memory, at) === 0) problems.push(`${name}: ${at} has no key`);
    const ended = numbers[(shard >>> 1) + (origin === OWN_ORIGIN ? ShardNumber.ended : ShardNumber.othersEnded)];
    if (!isPresent(memory, at) && versionOf(memory, at) > ended)
      problems.push(`${name}: ${at} is over, and garbage collection would not find it`);
    before = at;
  }
  if (linkAt(memory, state + OriginShardWord.tail) !== before) problems.push(`${name} does not end at its tail`);
  if (linked.size !== held.size) problems.push(`${name} links ${linked.size} of ${held.size} components`);
  if (origin === OWN_ORIGIN && before !== 0 && versionOf(memory, before) > engine.seen(shardIndex, OWN_ORIGIN))
    problems.push(`${name} holds versions not given yet`);
  const kept = engine.digestOf(shardIndex, origin);
  numbers[(state >>> 1) + OriginShardNumber.digested] = 0;
  memory[state + OriginShardWord.digestLow] = 0;
  memory[state + OriginShardWord.digestHigh] = 0;
  digests.catchUp(state);
  const recomputed = engine.digestOf(shardIndex, origin);
  if (kept !== recomputed) problems.push(`${name} has digest ${kept}, from scratch ${recomputed}`);
}
