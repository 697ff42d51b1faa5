import { afterEach, expect, test, vi } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions;
afterEach(() => regions.close());

/** Longer than a region that has nothing to say stays silent, and shorter than a test may last. */
const BOUND_MS = 5000;

async function readOverHttp(name: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${regions.of(name).ready.http}/api/v1/keys/${path}`, { headers });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

test('a read with a bound on staleness is answered within it, and refused behind a cut', async () => {
  regions = await TestRegions.start(['us', 'eu']);
  await regions.call('eu', 'INCRBY', 'k', 7);
  await regions.agreeOn('k', 7);
  await eventually(async () => expect(await regions.call('us', 'FRESH.GET', 'k', BOUND_MS)).toBe('$1\r\n7\r\n'));
  const read = await readOverHttp('us', `k?maxAgeMs=${BOUND_MS}`);
  expect(read).toMatchObject({
    status: 200,
    json: { key: 'k', value: '7', regions: { eu: { ageMs: expect.any(Number) } } },
  });
  regions.cut('us', 'eu');
  await eventually(async () => {
    expect(await regions.call('us', 'FRESH.GET', 'k', 50)).toMatch(
      /^-STALE region eu was last wholly known \d+ ms ago; the read asks for at most 50 ms\r\n$/,
    );
  });
  expect(await readOverHttp('us', 'k?maxAgeMs=50')).toMatchObject({ status: 412, json: { code: 'stale' } });
  // A read without a bound gets the value that is there.
  expect(await regions.call('us', 'GET', 'k')).toBe('$1\r\n7\r\n');
  expect(await readOverHttp('us', 'k')).toMatchObject({ status: 200, json: { value: '7' } });
  const age = Number(/:(\d+)\r\n$/.exec(await regions.call('us', 'REPL.AGES'))?.[1]);
  expect(age).toBeGreaterThan(50);
  regions.heal('us', 'eu');
  await eventually(async () => expect(await regions.call('us', 'FRESH.GET', 'k', BOUND_MS)).toBe('$1\r\n7\r\n'));
});

test('a region that was never reached makes every bounded read fail; one that was removed does not', async () => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [['us', 'eu']] });
  await regions.start('us');
  expect(await regions.call('us', 'FRESH.GET', 'k', BOUND_MS)).toMatch(/^-STALE region eu was never wholly known here/);
  expect(await regions.call('us', 'REPL.AGES')).toBe('*2\r\n$2\r\neu\r\n:-1\r\n');
  await regions.call('us', 'REPL.PEERS', 'REMOVE', 'eu');
  expect(await regions.call('us', 'FRESH.GET', 'k', 0)).toBe('$-1\r\n');
});

test('a region without peers is never stale', async () => {
  regions = await TestRegions.make(['us'], { dials: [] });
  await regions.start('us', ['--password', 'secret']);
  await regions.call('us', 'AUTH', 'secret');
  await regions.call('us', 'SET', 'a b', '9223372036854775807');
  expect(await regions.call('us', 'FRESH.GET', 'a b', 0)).toBe('$19\r\n9223372036854775807\r\n');
  expect(await regions.call('us', 'FRESH.GET', 'a b', -1)).toMatch(
    /^-ERR max-age is no duration or out of range: '-1'/,
  );
  const headers = { authorization: `Basic ${btoa('default:secret')}` };
  expect(await readOverHttp('us', 'a%20b?maxAgeMs=0', headers)).toEqual({
    status: 200,
    json: { key: 'a b', value: '9223372036854775807', regions: {} },
  });
  expect(await readOverHttp('us', 'none', headers)).toMatchObject({ status: 404, json: { code: 'no_such_key' } });
  expect(await readOverHttp('us', 'a?maxAgeMs=soon', headers)).toMatchObject({ status: 400 });
  expect(await readOverHttp('us', '%zz', headers)).toMatchObject({ status: 400 });
  expect(await readOverHttp('us', 'a%20b')).toMatchObject({ status: 401 });
});
