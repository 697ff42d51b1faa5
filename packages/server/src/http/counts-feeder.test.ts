import { randomBytes } from 'node:crypto';
import { defaultConfiguration } from '@quotadb/config';
import {
  type ComponentFeed,
  type CountsService,
  createCountsService,
  EmbeddedPostgres,
  type Feeder,
} from '@quotadb/counts';
import { Batch, ByteInput, batchSince, Engine, Merge, ORIGIN_ID_BYTES, OWN_ORIGIN, splitInt64 } from '@quotadb/engine';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../testing/index.js';
import { createFeeder, type FeederParts } from './counts-feeder.js';

const postgres = new EmbeddedPostgres({});
/** Two instances on one database, as two regions would be. */
let services: CountsService[];
const feeders: Feeder[] = [];

beforeAll(async () => {
  const options = await postgres.start();
  services = [0, 1].map(() => createCountsService({ postgres: options }));
  await services[0]!.ready();
});

afterEach(async () => {
  for (const feeder of feeders.splice(0)) await feeder.stop();
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await postgres.stop();
});

function makeEngine(): Engine {
  const origin = randomBytes(ORIGIN_ID_BYTES);
  const engine = Engine.format({ maxMemoryBytes: 4 * 1024 * 1024, nowMs: Date.now(), shardCount: 1, origin });
  // With peers that have to acknowledge it, nothing that ended is collected at once.
  engine.acknowledge(0, 0);
  return engine;
}

function withKey(engine: Engine, key: string, change: () => unknown): void {
  const bytes = Buffer.from(key);
  engine.open(ByteInput.copyOf(bytes), 0, bytes.length);
  change();
  engine.close();
}

const add = (engine: Engine, key: string, amount: bigint) =>
  withKey(engine, key, () => engine.add(...splitInt64(amount)));

/** Everything that one node knows and the other does not, as replication would bring it. */
function replicate(from: Engine, to: Engine): void {
  const merge = new Merge(to);
  for (let origin = 0; origin < from.origins.count; origin++) {
    const theirs = to.origins.find(from.origins.idOf(origin));
    if (theirs === OWN_ORIGIN) continue;
    merge.apply(batchSince(from, 0, origin, theirs === -1 ? 0 : to.seen(0, theirs), new Batch()));
  }
}

function feed(engine: Engine, feeds: FeederParts['config']['feeds'], more: Partial<FeederParts> = {}): Feeder {
  const feeder = createFeeder({
    config: { ...defaultConfiguration(), feeds, feedIntervalMs: 10 },
    engine,
    persistence: undefined,
    record: services[feeders.length % 2]!.feed,
    logger: pino({ level: 'silent' }),
    ...more,
  });
  feeders.push(feeder);
  feeder.start();
  return feeder;
}

const create = (itemId: string) => services[0]!.api.internal.initialize(itemId, 0n);
const recorded = async (itemId: string) => (await services[0]!.api.internal.get(itemId)).currentValue;
const untilValue = (itemId: string, value: bigint) =>
  eventually(async () => expect(await recorded(itemId)).toBe(value));

test('two regions that count, hear from each other and both feed one count come to the exact total', async () => {
  await create('total');
  const regions = [makeEngine(), makeEngine()];
  for (const engine of regions) feed(engine, [{ itemId: 'total', key: 'clicks' }]);
  let expected = 0n;
  for (let round = 1; round <= 50; round++) {
    for (const [index, engine] of regions.entries()) {
      const amount = BigInt(round * (index + 1)) * (round % 5 === 0 ? -1n : 1n);
      add(engine, 'clicks', amount);
      expected += amount;
    }
    if (round % 3 === 0) replicate(regions[0]!, regions[1]!);
    if (round % 4 === 0) replicate(regions[1]!, regions[0]!);
    await services[0]!.api.external.increase('total', 1n);
    expected += 1n;
  }
  await untilValue('total', expected);
});

test('counts after a reset are added to those before it', async () => {
  await create('resets');
  const engine = makeEngine();
  feed(engine, [{ itemId: 'resets', key: 'r' }]);
  add(engine, 'r', 7n);
  await untilValue('resets', 7n);
  withKey(engine, 'r', () => engine.remove());
  add(engine, 'r', 2n);
  await untilValue('resets', 9n);
  withKey(engine, 'r', () => engine.assign(...splitInt64(100n), false));
  await untilValue('resets', 109n);
});

test('a server that comes back without its memory counts on as another', async () => {
  await create('reborn');
  const first = makeEngine();
  const feeder = feed(first, [{ itemId: 'reborn', key: 'k' }]);
  add(first, 'k', 5n);
  await untilValue('reborn', 5n);
  add(first, 'k', 1n);
  await feeder.stop();
  expect(await recorded('reborn')).toBe(6n);
  const second = makeEngine();
  feed(second, [{ itemId: 'reborn', key: 'k' }]);
  add(second, 'k', 4n);
  await untilValue('reborn', 10n);
});

test('a count made later, or anew, receives the whole; one fed by two counters receives both', async () => {
  const engine = makeEngine();
  add(engine, 'one', 30n);
  add(engine, 'two', 4n);
  const feeds = ['one', 'two'].map((key) => ({ itemId: 'late', key }));
  feed(engine, feeds, { wholeFoldIntervalMs: 50 });
  await create('late');
  await untilValue('late', 34n);
  await services[0]!.api.internal.delete('late');
  await create('late');
  await untilValue('late', 34n);
});

test('a counter that has not changed is not folded again', async () => {
  await create('quiet');
  const folded: string[] = [];
  const record: ComponentFeed = {
    fold(components) {
      folded.push(...components.map(({ origin }) => origin.split(' ')[1]!));
      return services[0]!.feed.fold(components);
    },
  };
  const engine = makeEngine();
  add(engine, 'still', 1n);
  add(engine, 'busy', 1n);
  feed(
    engine,
    ['still', 'busy'].map((key) => ({ itemId: 'quiet', key })),
    { record },
  );
  for (let value = 2n; value < 12n; value++) {
    await untilValue('quiet', value);
    add(engine, 'busy', 1n);
  }
  await untilValue('quiet', 12n);
  expect(folded.filter((key) => key === 'still')).toHaveLength(1);
});

test('a failing record is reported once, and nothing is lost or doubled when it is back', async () => {
  await create('rough');
  let isAway = true;
  const warnings: string[] = [];
  const record: ComponentFeed = {
    // The worst that can happen: it is folded, and the word of it is lost.
    async fold(components) {
      const outcome = await services[0]!.feed.fold(components);
      if (isAway) throw new Error('the connection was lost');
      return outcome;
    },
  };
  const engine = makeEngine();
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  feed(engine, [{ itemId: 'rough', key: 'x' }], { record, logger });
  for (let value = 1n; value <= 5n; value++) {
    add(engine, 'x', 1n);
    await untilValue('rough', value);
  }
  isAway = false;
  add(engine, 'x', 1n);
  await untilValue('rough', 6n);
  expect(warnings).toHaveLength(1);
});

test('totals past 64 bits are reported and left out, and the other counters go on', async () => {
  await create('huge');
  await create('small');
  const warnings: string[] = [];
  const engine = makeEngine();
  for (let count = 0; count < 3; count++) {
    add(engine, 'h', 2n ** 62n);
    add(engine, 'h', -(2n ** 62n));
  }
  add(engine, 's', 3n);
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  const feeds = [
    { itemId: 'huge', key: 'h' },
    { itemId: 'small', key: 's' },
  ];
  feed(engine, feeds, { logger });
  await untilValue('small', 3n);
  add(engine, 's', 1n);
  await untilValue('small', 4n);
  expect(await recorded('huge')).toBe(0n);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('huge');
});
