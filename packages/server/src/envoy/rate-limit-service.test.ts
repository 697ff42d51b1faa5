import type { RateLimitReply } from '@quotadb/envoy/testing';
import { eventually } from '@quotadb/resp/testing';
import { describe, expect, test } from 'vitest';
import { useEnvoyServers } from './testing/use-envoy-servers.js';

const start = useEnvoyServers();
const OK = 'OK';
const OVER = 'OVER_LIMIT';

/** Of every descriptor: the code, and the requests that are left. */
function seen({ overallCode, statuses }: RateLimitReply): [string, ...[string, number][]] {
  return [overallCode, ...statuses.map(({ code, limitRemaining = 0 }): [string, number] => [code, limitRemaining])];
}

const MESSAGING = `
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    descriptors:
      - key: to_number
        rate_limit: { unit: day, requests_per_unit: 5 }
  - key: to_number
    rate_limit: { unit: day, requests_per_unit: 100 }
`;

describe('the documented examples of the reference, with its answers', () => {
  test('several descriptors are limited on all of them, and each value has a counter of its own', async () => {
    const { client } = await start(MESSAGING);
    const ask = (number: string) =>
      client.ask(
        'messaging',
        [
          ['message_type', 'marketing'],
          ['to_number', number],
        ],
        [['to_number', number]],
      );
    for (let left = 4; left >= 0; left--) expect(seen(await ask('1'))).toEqual([OK, [OK, left], [OK, 95 + left]]);
    expect(seen(await ask('1'))).toEqual([OVER, [OVER, 0], [OK, 94]]);
    expect(seen(await ask('2'))).toEqual([OK, [OK, 4], [OK, 99]]);
  });

  test('a limit of 0 denies, and a descriptor without a limit is let through', async () => {
    const { client } = await start(`
domain: edge_proxy_per_ip
descriptors:
  - { key: remote_address, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: remote_address, value: 50.0.0.5, rate_limit: { unit: second, requests_per_unit: 0 } }
  - { key: remote_address, value: 50.0.0.6 }
`);
    const ask = (address: string) => client.ask('edge_proxy_per_ip', [['remote_address', address]]);
    expect(seen(await ask('50.0.0.1'))).toEqual([OK, [OK, 9]]);
    expect(seen(await ask('50.0.0.5'))).toEqual([OVER, [OVER, 0]]);
    const free = await ask('50.0.0.6');
    expect(seen(free)).toEqual([OK, [OK, 0]]);
    expect(free.statuses[0].currentLimit).toBeUndefined();
  });

  test('a request with more entries than the limit has levels does not match it', async () => {
    const { client } = await start(
      'domain: example4\ndescriptors:\n  - { key: key, value: value, rate_limit: { unit: second, requests_per_unit: 300 } }',
    );
    const reply = await client.ask('example4', [
      ['key', 'value'],
      ['subkey', 'subvalue'],
    ]);
    expect(reply.statuses).toEqual([{ code: OK }]);
  });

  test('unlimited: OK, with the largest number left', async () => {
    const { client } = await start(
      'domain: internal\ndescriptors:\n  - { key: ldap, rate_limit: { unlimited: true } }',
    );
    expect(seen(await client.ask('internal', [['ldap', 'x']]))).toEqual([OK, [OK, 2 ** 32 - 1]]);
  });

  test('shadow_mode: counted, and never denied', async () => {
    const { client } = await start(`
domain: example6
descriptors:
  - key: service
    descriptors:
      - { key: user, value: user-a, rate_limit: { unit: second, requests_per_unit: 1 }, shadow_mode: true }
      - { key: user, value: user-b, rate_limit: { unit: second, requests_per_unit: 1 } }
`);
    const ask = (user: string) =>
      client.ask('example6', [
        ['service', 'auth-service'],
        ['user', user],
      ]);
    expect(seen(await ask('user-a'))).toEqual([OK, [OK, 0]]);
    expect(seen(await ask('user-a'))).toEqual([OK, [OK, 0]]);
    expect(seen(await ask('user-b'))).toEqual([OK, [OK, 0]]);
    expect(seen(await ask('user-b'))).toEqual([OVER, [OVER, 0]]);
  });

  test('replaces: the limit that is replaced neither denies nor counts', async () => {
    const { client } = await start(`
domain: example7
descriptors:
  - key: key_1
    value: value_1
    descriptors:
      - { key: user, value: b, rate_limit: { name: specific_limit, requests_per_unit: 5, unit: second } }
  - key: key_2
    value: value_2
    descriptors:
      - { key: user, value: b, rate_limit: { replaces: [{ name: specific_limit }], requests_per_unit: 10, unit: second } }
`);
    const one: [string, string][] = [
      ['key_1', 'value_1'],
      ['user', 'b'],
    ];
    const two: [string, string][] = [
      ['key_2', 'value_2'],
      ['user', 'b'],
    ];
    expect(seen(await client.ask('example7', one))).toEqual([OK, [OK, 4]]);
    expect(seen(await client.ask('example7', one, two))).toEqual([OK, [OK, 0], [OK, 9]]);
    const reply = await client.ask('example7', one);
    expect(seen(reply)).toEqual([OK, [OK, 3]]);
    expect(reply.statuses[0].currentLimit).toEqual({ requestsPerUnit: 5, unit: 'SECOND', name: 'specific_limit' });
  });

  test('an unknown domain is let through, and an empty one or no descriptor is an error', async () => {
    const { client } = await start(MESSAGING);
    expect(seen(await client.ask('nowhere', [['k', 'v']]))).toEqual([OK, [OK, 0]]);
    await expect(client.ask('', [['k', 'v']])).rejects.toThrow('rate limit domain must not be empty');
    await expect(client.ask('messaging')).rejects.toThrow('rate limit descriptor list must not be empty');
  });
});

describe('fixed windows count as the reference does', () => {
  const LIMIT = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: minute, requests_per_unit: 10 } }';
  const entries = [{ key: 'k', value: 'v' }];

  test('the counter grows also over the limit: hits that do not fit are counted all the same', async () => {
    const { client } = await start(LIMIT);
    const ask = (hitsAddend: number) => client.shouldRateLimit({ domain: 'd', hitsAddend, descriptors: [{ entries }] });
    expect(seen(await ask(9))).toEqual([OK, [OK, 1]]);
    expect(seen(await ask(3))).toEqual([OVER, [OVER, 0]]);
    expect(seen(await ask(1))).toEqual([OVER, [OVER, 0]]);
  });

  test('hits of a descriptor outdo those of the request; 0 asks without counting; negative ones give back', async () => {
    const { client } = await start(LIMIT);
    const ask = (more: object) =>
      client.shouldRateLimit({ domain: 'd', hitsAddend: 2, descriptors: [{ entries, ...more }] });
    expect(seen(await ask({}))).toEqual([OK, [OK, 8]]);
    expect(seen(await ask({ hitsAddend: { value: 5 } }))).toEqual([OK, [OK, 3]]);
    expect(seen(await ask({ hitsAddend: { value: 0 } }))).toEqual([OK, [OK, 3]]);
    expect(seen(await ask({ hitsAddend: { value: 4 }, isNegativeHits: true }))).toEqual([OK, [OK, 7]]);
    expect(seen(await ask({ hitsAddend: { value: 4000 }, isNegativeHits: true }))).toEqual([OK, [OK, 10]]);
  });

  test('a window begins with its unit, and the reply says in how many seconds the next one does', async () => {
    const { client, clock } = await start(LIMIT);
    clock.nowMs = 1_700_000_000_000;
    const reset = async () => (await client.ask('d', [['k', 'v']])).statuses[0].durationUntilReset?.seconds;
    expect(await reset()).toBe(60 - (1_700_000_000 % 60));
    clock.advance(40_000);
    const reply = await client.ask('d', [['k', 'v']]);
    expect(seen(reply)).toEqual([OK, [OK, 9]]);
    expect(reply.statuses[0].durationUntilReset?.seconds).toBe(60);
  });

  test('a limit of the request takes the place of the configured one, in domains that are known', async () => {
    const { client } = await start(LIMIT);
    const ask = (domain: string, unit: number) =>
      client.shouldRateLimit({ domain, descriptors: [{ entries, limit: { requestsPerUnit: 2, unit } }] });
    const reply = await ask('d', 3);
    expect(reply.statuses[0]).toMatchObject({ currentLimit: { requestsPerUnit: 2, unit: 'HOUR' }, limitRemaining: 1 });
    await ask('d', 3);
    expect(seen(await ask('d', 3))).toEqual([OVER, [OVER, 0]]);
    expect(seen(await ask('other', 3))).toEqual([OK, [OK, 0]]);
    await expect(ask('d', 0)).rejects.toThrow(/the unit 0, which is not known/);
  });

  test.each([
    ['second', 1],
    ['minute', 60],
    ['hour', 3600],
    ['day', 86_400],
    ['week', 604_800],
    ['month', 2_592_000],
    ['year', 31_536_000],
  ])('a %s has %i seconds', async (unit, seconds) => {
    const { client, clock } = await start(
      `domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: ${unit}, requests_per_unit: 1 } }`,
    );
    clock.nowMs = Math.ceil(1_700_000_000 / seconds) * seconds * 1000;
    const reply = await client.ask('d', [['k', 'v']]);
    expect(reply.statuses[0]).toMatchObject({ code: OK, currentLimit: { unit: unit.toUpperCase() } });
    expect(reply.statuses[0].durationUntilReset?.seconds).toBe(seconds);
    clock.advance(seconds * 1000 - 1);
    expect(seen(await client.ask('d', [['k', 'v']]))).toEqual([OVER, [OVER, 0]]);
    clock.advance(1);
    expect(seen(await client.ask('d', [['k', 'v']]))).toEqual([OK, [OK, 0]]);
  });
});

describe('beyond the reference', () => {
  const KINDS = `
domain: d
descriptors:
  - { key: exact, exact: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: sliding, sliding: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: fixed, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: shadow, exact: true, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
`;

  test.each(['exact', 'sliding'])('%s: as much as the limit, and a denial costs nothing', async (kind) => {
    const { client } = await start(KINDS);
    const ask = (value: number) =>
      client.shouldRateLimit({
        domain: 'd',
        descriptors: [{ entries: [{ key: kind, value: 'v' }], hitsAddend: { value } }],
      });
    expect(seen(await ask(2))).toEqual([OK, [OK, 1]]);
    expect(seen(await ask(2))).toEqual([OVER, [OVER, 0]]);
    expect(seen(await ask(1))).toEqual([OK, [OK, 0]]);
    expect(seen(await ask(1))).toEqual([OVER, [OVER, 0]]);
    await expect(
      client.shouldRateLimit({
        domain: 'd',
        descriptors: [{ entries: [{ key: kind, value: 'v' }], isNegativeHits: true }],
      }),
    ).rejects.toThrow(/takes none back/);
  });

  test('all or none: a descriptor that denies leaves the exact and sliding ones beside it uncharged', async () => {
    const { client } = await start(KINDS);
    const three = () => client.ask('d', [['exact', 'v']], [['sliding', 'v']], [['fixed', 'v']]);
    expect(seen(await three())).toEqual([OK, [OK, 2], [OK, 2], [OK, 0]]);
    expect(seen(await three())).toEqual([OVER, [OK, 2], [OK, 2], [OVER, 0]]);
    expect(seen(await client.ask('d', [['exact', 'v']], [['sliding', 'v']]))).toEqual([OK, [OK, 1], [OK, 1]]);
  });

  test('an exact limit in shadow mode takes its tokens and denies nothing', async () => {
    const { client } = await start(KINDS);
    for (let count = 0; count < 4; count++) expect((await client.ask('d', [['shadow', 'v']])).overallCode).toBe(OK);
    // In shadow an answer does not wait for tokens: they are taken a moment later.
    await eventually(async () => expect(seen(await client.ask('d', [['shadow', 'v']]))).toEqual([OK, [OK, 0]]));
  });

  test('a sliding window does not let twice the limit through at the turn of a minute', async () => {
    const { client, clock } = await start(KINDS);
    clock.nowMs = Math.ceil(clock.nowMs / 60_000) * 60_000 + 59_000;
    for (let count = 0; count < 3; count++) await client.ask('d', [['sliding', 'v']]);
    clock.advance(2000);
    expect((await client.ask('d', [['sliding', 'v']])).overallCode).toBe(OVER);
  });

  test('headers of the limit with the least left, and metadata with violations of quota_mode, where they are on', async () => {
    const { client } = await start(
      `
domain: d
descriptors:
  - { key: wide, rate_limit: { unit: minute, requests_per_unit: 9 } }
  - { key: narrow, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
`,
      { rlsHeaders: true, rlsMetadata: true },
    );
    await client.ask('d', [['wide', 'v']], [['narrow', 'v']]);
    const reply = await client.ask('d', [['wide', 'v']], [['narrow', 'v']]);
    expect(seen(reply)).toEqual([OK, [OK, 7], [OK, 0]]);
    expect(reply.responseHeadersToAdd?.map(({ key, value }) => [key, value]).slice(0, 2)).toEqual([
      ['x-ratelimit-limit', '1'],
      ['x-ratelimit-remaining', '0'],
    ]);
    expect(plainStruct(reply.dynamicMetadata)).toEqual({
      domain: 'd',
      descriptors: [{ entries: ['wide=v'] }, { entries: ['narrow=v'] }],
      quotaModeEnabled: true,
      quotaModeViolations: [1],
    });
  });

  test('without the switches a reply brings neither headers nor metadata', async () => {
    const { client } = await start(KINDS);
    const reply = await client.ask('d', [['fixed', 'v']]);
    expect([reply.responseHeadersToAdd, reply.dynamicMetadata]).toEqual([undefined, undefined]);
  });
});

/** A google.protobuf.Struct as it was before it was put into messages. */
function plainStruct(value: unknown): unknown {
  const given = value as Record<string, unknown>;
  if (given.fields !== undefined)
    return Object.fromEntries(
      Object.entries(given.fields as object).map(([name, inner]) => [name, plainStruct(inner)]),
    );
  if (given.structValue !== undefined) return plainStruct(given.structValue);
  if (given.listValue !== undefined) return ((given.listValue as { values?: unknown[] }).values ?? []).map(plainStruct);
  return Object.values(given)[0];
}
