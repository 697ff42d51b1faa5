import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FedComponent } from '../../domain/ports/component-feed.js';
import { type CountsService, createCountsService } from '../../service.js';
import { TestDatabase } from '../../testing/test-database.js';

let database: TestDatabase;
let services: CountsService[];

beforeAll(async () => {
  database = await TestDatabase.start();
  services = [0, 1].map(() => createCountsService({ postgres: database.options }));
  await services[0]!.ready();
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await database.stop();
});

const create = (itemId: string, initialValue = 0n) => services[0]!.api.internal.initialize(itemId, initialValue);
const component = (
  itemId: string,
  origin: string,
  increments: number,
  decrements = 0,
  generation = 1,
): FedComponent => ({
  itemId,
  origin,
  generation: BigInt(generation),
  increments: BigInt(increments),
  decrements: BigInt(decrements),
});
const fold = (...components: FedComponent[]) => services[0]!.feed.fold(components);

test('a component folded again, late or out of order adds nothing', async () => {
  await create('fed', 100n);
  expect((await fold(component('fed', 'us', 5, 2))).changed).toEqual(new Map([['fed', 103n]]));
  expect((await fold(component('fed', 'us', 5, 2))).changed.size).toBe(0);
  await fold(component('fed', 'us', 9, 2));
  expect((await fold(component('fed', 'us', 7, 1))).changed.size).toBe(0);
  expect(await database.valueOf('fed')).toBe(107n);
});

test('origins are kept apart, and several states of one component count as the newest', async () => {
  await create('origins');
  await fold(component('origins', 'us', 1), component('origins', 'eu', 10), component('origins', 'us', 4, 1));
  expect(await database.valueOf('origins')).toBe(13n);
});

test('totals that grow apart are merged each on its own', async () => {
  await create('apart');
  await fold(component('apart', 'us', 5, 0));
  await fold(component('apart', 'us', 3, 4));
  expect(await database.valueOf('apart')).toBe(1n);
});

test('a new generation is added to the totals of those before it, and an old one is ignored', async () => {
  await create('lives');
  await fold(component('lives', 'us', 8, 0, 1));
  await fold(component('lives', 'us', 3, 0, 2));
  await fold(component('lives', 'us', 50, 0, 1));
  expect(await database.valueOf('lives')).toBe(11n);
});

test('an item without a count is said to be missing, and receives everything once it has one', async () => {
  expect((await fold(component('later', 'us', 6))).missing).toEqual(new Set(['later']));
  await create('later');
  await fold(component('later', 'us', 6));
  expect(await database.valueOf('later')).toBe(6n);
  await services[0]!.api.internal.delete('later');
  await create('later');
  await fold(component('later', 'us', 6));
  expect(await database.valueOf('later')).toBe(6n);
});

test('a count that would leave the 64-bit range is left alone, its neighbours are not', async () => {
  await create('roomy');
  await create('narrow', 2n ** 63n - 2n);
  const outcome = await fold(component('narrow', 'us', 5), component('roomy', 'us', 5), component('nobody', 'us', 5));
  expect(outcome).toEqual({
    changed: new Map([['roomy', 5n]]),
    missing: new Set(['nobody']),
    overflowed: new Set(['narrow']),
  });
  await services[0]!.api.external.reset('narrow');
  await fold(component('narrow', 'us', 5));
  expect(await database.valueOf('narrow')).toBe(5n);
});

test('the same states folded by two instances at once, while requests change the counts too, count once', async () => {
  const items = Array.from({ length: 20 }, (_, index) => `shared-${index}`);
  await Promise.all(items.map((itemId) => create(itemId)));
  const work: Promise<unknown>[] = [];
  for (let round = 1; round <= 25; round++) {
    const components = items.flatMap((itemId) => ['us', 'eu'].map((origin) => component(itemId, origin, round)));
    for (const service of services) work.push(service.feed.fold([...components].reverse()));
    for (const itemId of items) work.push(services[round % 2]!.api.external.increase(itemId, 1n));
  }
  await Promise.all(work);
  for (const itemId of items) expect(await database.valueOf(itemId)).toBe(75n);
});
