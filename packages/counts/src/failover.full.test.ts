import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { Load } from './testing/load.js';
import { ReplicatedPair } from './testing/replicated-pair.js';
import { until } from './testing/until.js';

let pair: ReplicatedPair;
let service: CountsService;

beforeEach(async () => {
  pair = await ReplicatedPair.start();
});

afterEach(async () => {
  await service.stop();
  await pair.stop();
});

const ports = () => pair.addresses.map(({ port }) => port);
const ways: readonly (readonly [name: string, url: () => string, moves: boolean])[] = [
  ['an address that moves', () => pair.url(ports()[0]!), true],
  ['a URL with both hosts', () => pair.url(...ports()), false],
  ['a URL with both hosts, the standby first', () => pair.url(...ports().reverse()), false],
];

describe.each(ways)('reached by %s', (_name, url, moves) => {
  test('the primary dies and its standby takes over: no acknowledged change is missing, none is doubled', async () => {
    service = createCountsService({ postgres: { connectionString: url() } });
    const { internal } = service.api;
    await internal.initialize('plain', 0n);
    await internal.initialize('keyed', 0n);
    const loads = [new Load([service], 'plain', false), new Load([service], 'keyed', true)];
    await until(() => loads.every(({ applied }) => applied > 500));
    await pair.killPrimary();
    // For a while there is only a server that reads: changes are refused, and the answers say so.
    if (moves) pair.moveAddress();
    await until(() => loads.every(({ refused }) => refused > 0));
    await pair.promoteStandby();
    const before = loads.map(({ applied }) => applied);
    await until(() => loads.every(({ applied }, index) => applied > before[index]! + 500));
    await Promise.all(loads.map((load) => load.stop()));
    const values = await pair.values();
    for (const load of loads) load.expectStored(values.get(load.itemId)!);
    // Reads go to the server that writes, too.
    const read = await internal.getMany(['plain', 'keyed']);
    expect(read.map(({ currentValue }) => Number(currentValue))).toEqual([values.get('plain'), values.get('keyed')]);
  });
});
