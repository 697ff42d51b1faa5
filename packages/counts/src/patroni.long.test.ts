import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { Load } from './testing/load.js';
import { describeWithPatroni, PatroniCluster } from './testing/patroni.js';
import { until } from './testing/until.js';

/** Each node is the primary that dies once. */
const ROUNDS = 2;
const CHANGES = 2_000;

describeWithPatroni('two nodes of PostgreSQL under Patroni and etcd, commits on both', () => {
  let cluster: PatroniCluster;
  let services: CountsService[];

  beforeAll(async () => {
    cluster = await PatroniCluster.start();
    services = [0, 1].map(() => createCountsService({ postgres: { connectionString: cluster.url } }));
  }, 300_000);

  afterAll(async () => {
    for (const service of services) await service.stop();
    await cluster.stop();
  }, 60_000);

  test('the machine of the primary dies under load, twice: what was answered is stored, each change once', async () => {
    const { internal } = services[0]!.api;
    await internal.initialize('plain', 0n);
    await internal.initialize('keyed', 0n);
    const loads = [new Load(services, 'plain', false), new Load(services, 'keyed', true)];
    const goOn = async () => {
      const before = loads.map(({ applied }) => applied);
      await until(() => loads.every(({ applied }, index) => applied > before[index]! + CHANGES));
    };
    for (let round = 1; round <= ROUNDS; round++) {
      await goOn();
      const primary = (await cluster.primary())!;
      await primary.kill();
      await until(async () => (await cluster.primary()) !== undefined);
      await goOn();
      expect(await cluster.primary()).not.toBe(primary);
      // It comes back as a standby, with what only it had undone.
      await primary.start();
      await until(() => cluster.isWhole());
    }
    await Promise.all(loads.map((load) => load.stop()));
    for (const load of loads) {
      const { itemId, applied, refused, unknown, longestGapMs } = load;
      const stored = Number((await internal.get(itemId)).currentValue);
      process.stdout.write(
        `${itemId}: ${applied} answered, ${stored} stored, ${unknown.length} unknown, ${refused} refused; ` +
          `longest gap ${(longestGapMs / 1_000).toFixed(1)} s\n`,
      );
      load.expectStored(stored);
    }
  }, 900_000);
});
