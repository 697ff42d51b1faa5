import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readConfiguration } from '../configuration/read-configuration.js';
import type { Domains } from '../configuration/rule.js';
import { counterName } from './counter-name.js';
import { findRule } from './find-rule.js';

function load(text: string): Domains {
  const { domains, mistakes } = readConfiguration([{ name: 'test.yaml', text }]);
  if (domains === undefined) throw new Error(JSON.stringify(mistakes));
  return domains;
}

type Pair = readonly [key: string, value: string];

function find(domains: Domains, domain: string, pairs: readonly Pair[]) {
  return findRule(
    domains,
    domain,
    pairs.map(([key, value]) => ({ key, value })),
  );
}

/** The limit of a request: `5/second`; none. */
function limitOf(domains: Domains, domain: string, ...pairs: Pair[]): string {
  const { rule } = find(domains, domain, pairs) ?? {};
  if (rule === undefined) return 'none';
  return rule.unit === undefined ? 'unlimited' : `${rule.requestsPerUnit}/${rule.unit}`;
}

/** The configuration that the tests of the reference use, in its structure; the answers are those of its tests. */
const BASIC = `
domain: test-domain
descriptors:
  - key: key1
    value: value1
    descriptors:
      - { key: subkey1, rate_limit: { unit: second, requests_per_unit: 5 } }
      - { key: subkey1, value: subvalue1, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: key2, rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key2, value: value2, rate_limit: { unit: minute, requests_per_unit: 30 } }
  - { key: key2, value: value3 }
  - { key: key3, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: key4, rate_limit: { unit: day, requests_per_unit: 1 } }
  - key: key5
    value: value5
    rate_limit: { unit: day, requests_per_unit: 15 }
    descriptors:
      - { key: subkey5, value: subvalue5, rate_limit: { unit: day, requests_per_unit: 25 } }
  - { key: key6, rate_limit: { unlimited: true } }
  - { key: key7, detailed_metric: true, rate_limit: { unit: minute, requests_per_unit: 70 } }
`;

describe('the limit of a request is that of the reference', () => {
  const basic = load(BASIC);
  test.each<[string, readonly Pair[], string]>([
    ['foo_domain', [], 'none'],
    ['foo_domain', [['key2', 'x']], 'none'],
    ['test-domain', [], 'none'],
    ['test-domain', [['key1', 'something']], 'none'],
    ['test-domain', [['key1', 'value1']], 'none'],
    [
      'test-domain',
      [
        ['key2', 'value2'],
        ['subkey', 'subvalue'],
      ],
      'none',
    ],
    [
      'test-domain',
      [
        ['key5', 'value5'],
        ['subkey5', 'subvalue'],
      ],
      'none',
    ],
    [
      'test-domain',
      [
        ['key1', 'value1'],
        ['subkey1', 'something'],
      ],
      '5/second',
    ],
    [
      'test-domain',
      [
        ['key1', 'value1'],
        ['subkey1', 'subvalue1'],
      ],
      '10/second',
    ],
    ['test-domain', [['key2', 'something']], '20/minute'],
    ['test-domain', [['key2', 'value2']], '30/minute'],
    ['test-domain', [['key2', 'value3']], 'none'],
    ['test-domain', [['key3', 'foo']], '1/hour'],
    ['test-domain', [['key4', 'foo']], '1/day'],
    ['test-domain', [['key5', 'value5']], '15/day'],
    [
      'test-domain',
      [
        ['key5', 'value5'],
        ['subkey5', 'subvalue5'],
      ],
      '25/day',
    ],
    ['test-domain', [['key6', 'foo']], 'unlimited'],
    ['test-domain', [['key7', 'unspecified_value']], '70/minute'],
  ])('%s %j: %s', (domain, pairs, limit) => {
    expect(limitOf(basic, domain, ...pairs)).toBe(limit);
  });

  test('the most specific descriptor of a level wins, wherever it is in the list', () => {
    const blacklist = load(`
domain: edge_proxy_per_ip
descriptors:
  - { key: remote_address, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: remote_address, value: 50.0.0.5, rate_limit: { unit: second, requests_per_unit: 0 } }
`);
    expect(limitOf(blacklist, 'edge_proxy_per_ip', ['remote_address', '50.0.0.1'])).toBe('10/second');
    expect(limitOf(blacklist, 'edge_proxy_per_ip', ['remote_address', '50.0.0.5'])).toBe('0/second');
  });

  test('a value that ends with a * matches where no exact one does, the first in the list, at every level', () => {
    const wild = load(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: k, value: "v*", rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: k, value: "val*", rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: k, value: value1, rate_limit: { unit: second, requests_per_unit: 4 } }
  - key: nested
    value: "a*"
    descriptors:
      - { key: sub, value: "b*", rate_limit: { unit: second, requests_per_unit: 5 } }
  - { key: mid, value: "/api*v1", rate_limit: { unit: second, requests_per_unit: 6 } }
  - { key: accept, value: "*/*", rate_limit: { unit: second, requests_per_unit: 7 } }
`);
    expect(limitOf(wild, 'd', ['k', 'value1'])).toBe('4/second');
    expect(limitOf(wild, 'd', ['k', 'value2'])).toBe('2/second');
    expect(limitOf(wild, 'd', ['k', 'other'])).toBe('1/second');
    expect(limitOf(wild, 'd', ['nested', 'a1'], ['sub', 'b1'])).toBe('5/second');
    expect(limitOf(wild, 'd', ['nested', 'a1'], ['sub', 'c1'])).toBe('none');
    // A * in the middle is a character like others.
    expect(limitOf(wild, 'd', ['mid', '/api/x/v1'])).toBe('none');
    expect(limitOf(wild, 'd', ['mid', '/api*v1'])).toBe('6/second');
    expect(limitOf(wild, 'd', ['accept', 'text/html'])).toBe('none');
    expect(limitOf(wild, 'd', ['accept', '*/html'])).toBe('7/second');
  });
});

test('values that share a threshold have one counter, and all others one each', () => {
  const domains = load(`
domain: d
descriptors:
  - { key: files, value: "files/*", share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 100 } }
  - { key: open, value: "files/*", rate_limit: { unit: minute, requests_per_unit: 100 } }
`);
  const counterOf = (key: string, value: string) => {
    const match = find(domains, 'd', [[key, value]]);
    return counterName('d', [{ key, value }], match?.sharedValues);
  };
  expect(counterOf('files', 'files/a')).toBe('d_files_files/*_');
  expect(counterOf('files', 'files/b')).toBe(counterOf('files', 'files/a'));
  expect(counterOf('open', 'files/a')).not.toBe(counterOf('open', 'files/b'));
});

test('figures name values where the configuration says so, and the path of the rule elsewhere', () => {
  const domains = load(`
domain: d
descriptors:
  - { key: plain, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: detailed, detailed_metric: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - key: route
    value_to_metric: true
    descriptors:
      - { key: method, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: shared, value: "s*", share_threshold: true, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 1 } }
`);
  expect(find(domains, 'd', [['plain', 'x']])?.figure).toBe('d.plain');
  expect(find(domains, 'd', [['detailed', 'x']])?.figure).toBe('d.detailed_x');
  expect(
    find(domains, 'd', [
      ['route', 'api'],
      ['method', 'GET'],
    ])?.figure,
  ).toBe('d.route_api.method');
  expect(find(domains, 'd', [['shared', 's1']])?.figure).toBe('d.shared_s*');
});

/** A descriptor as a file has it. */
interface PlainDescriptor {
  readonly key: string;
  readonly value?: string;
  readonly rate_limit?: { readonly unit: string; readonly requests_per_unit: number };
  readonly descriptors?: readonly PlainDescriptor[];
}

/** The documented rules, read from the lists of the file: no maps, no prepared patterns. */
function limitByModel(list: readonly PlainDescriptor[], pairs: readonly Pair[]): number | undefined {
  const [[key, value], ...rest] = pairs;
  const ranked = [
    list.find((each) => each.key === key && each.value === value),
    list.find((each) => each.key === key && each.value?.endsWith('*') && value.startsWith(each.value.slice(0, -1))),
    list.find((each) => each.key === key && each.value === undefined),
  ];
  const chosen = ranked.find((each) => each !== undefined);
  if (chosen === undefined) return undefined;
  if (rest.length === 0) return chosen.rate_limit?.requests_per_unit;
  return limitByModel(chosen.descriptors ?? [], rest);
}

const keys = fc.constantFrom('a', 'b', 'c');
const values = fc.constantFrom('x', 'xy', 'xyz', 'y', 'z1');
const patterns = fc.oneof(values, fc.constantFrom('x*', 'xy*', 'z*'), fc.constant(undefined));

const descriptorLists = (depth: number): fc.Arbitrary<readonly PlainDescriptor[]> =>
  fc.uniqueArray(
    fc.record(
      {
        key: keys,
        value: patterns,
        rate_limit: fc.record({ unit: fc.constant('minute'), requests_per_unit: fc.nat(1_000_000) }),
        descriptors: depth === 0 ? fc.constant([]) : descriptorLists(depth - 1),
      },
      { requiredKeys: ['key'] },
    ) as fc.Arbitrary<PlainDescriptor>,
    { selector: ({ key, value }) => `${key}_${value}`, maxLength: 4 },
  );

test('generated configurations match generated requests as a model of the documented rules does', () => {
  let found = 0;
  fc.assert(
    fc.property(
      descriptorLists(2),
      fc.array(fc.array(fc.tuple(keys, values), { minLength: 1, maxLength: 4 }), { minLength: 20, maxLength: 40 }),
      (descriptors, requests) => {
        const domains = load(JSON.stringify({ domain: 'd', descriptors }));
        for (const pairs of requests) {
          const byModel = limitByModel(descriptors, pairs);
          if (byModel !== undefined) found++;
          expect(find(domains, 'd', pairs)?.rule.requestsPerUnit).toBe(byModel);
        }
      },
    ),
    { numRuns: 150 },
  );
  // A model that never finds a limit would prove nothing.
  expect(found).toBeGreaterThan(100);
});
