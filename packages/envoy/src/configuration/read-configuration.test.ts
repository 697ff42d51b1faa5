import { expect, test } from 'vitest';
import { readConfiguration } from './read-configuration.js';
import { printMistake } from './yaml-file.js';

function mistakesOf(...texts: string[]): string[] {
  const files = texts.map((text, index) => ({ name: `${'abc'[index]}.yaml`, text }));
  return (readConfiguration(files).mistakes ?? []).map(printMistake);
}

test('all mistakes of all files are found at once, each with its file and line', () => {
  const first = `domain: one
descriptors:
  - key: k
    rate_limit:
      unit: fortnight
      requests_per_unit: -1
  - value: v
  - key: k
    shadow_mode: perhaps
    rate_limits: {}
`;
  const second = `domain: one
descriptors: {}
`;
  expect(mistakesOf(first, second, 'descriptors:\n  - 7\n')).toEqual([
    "a.yaml:6: 'requests_per_unit' must be a whole number from 0 to 4294967295, not -1",
    "a.yaml:5: 'fortnight' is not a unit: there are second, minute, hour, day, month, year, week",
    "a.yaml:7: a descriptor must have a 'key' that is not empty",
    expect.stringMatching(/^a\.yaml:10: the key 'rate_limits' is not known in a descriptor: there are key, value, /),
    "a.yaml:9: 'shadow_mode' must be true or false",
    "a.yaml:8: the descriptor 'one.k' is there twice: only one can match",
    "b.yaml:2: 'descriptors' must be a list",
    "b.yaml:1: the domain 'one' is in a.yaml already: a domain has one file",
    "c.yaml:1: there must be a 'domain', and it must not be empty",
    'c.yaml:2: a descriptor must be a mapping of names to values',
  ]);
});

test.each([
  ['domain: a\ndomain: b', 2],
  ['domain: [', 1],
  ['- 1', 1],
  ['', 1],
  ['domain: a\ndescriptors:\n  - *x', 3],
  ['domain: a\ndescriptors: &x\n  - { key: k, descriptors: *x }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, exact: true }', 3],
  [
    'domain: a\ndescriptors:\n  - key: k\n    exact: true\n    sliding: true\n    rate_limit: { unit: day, requests_per_unit: 1 }',
    5,
  ],
  ['domain: a\ndescriptors:\n  - { key: k, exact: true, rate_limit: { unlimited: true } }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, rate_limit: { unlimited: true, unit: day } }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, share_threshold: true, value: x, rate_limit: { unit: day } }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, rate_limit: { unit: day, name: n, replaces: [{ name: n }] } }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, rate_limit: { unit: day, replaces: [{}] } }', 3],
  ['domain: a\ndescriptors:\n  - { key: k, exact: true, rate_limit: { unit: day, requests_per_unit: 0 } }', 3],
])('%j is refused, with the line', (text, line) => {
  const mistakes = mistakesOf(text);
  expect(mistakes.length).toBeGreaterThan(0);
  expect(mistakes[0]).toMatch(new RegExp(`^a\\.yaml:${line}: `));
});

test('descriptors nested deeper than any request are refused, without a stack overflow', () => {
  const depth = 2000;
  const text = `domain: a\ndescriptors: ${'[{ key: k, descriptors: '.repeat(depth)}[]${'}]'.repeat(depth)}`;
  expect(mistakesOf(text).join('\n')).toMatch(/nested|Maximum call stack|levels/);
});

test('values are texts as they are written, and flags are the words of YAML 1.1, as the reference reads them', () => {
  const text =
    'domain: a\ndescriptors:\n  - { key: code, value: 0404, shadow_mode: yes, rate_limit: { unit: DAY, requests_per_unit: 1 } }';
  const { domains } = readConfiguration([{ name: 'a.yaml', text }]);
  const node = domains?.get('a')?.children.get('code_0404');
  expect(node?.rule).toMatchObject({ isShadow: true, unit: 'day', requestsPerUnit: 1, path: 'a.code_0404' });
});

test('a quota has a name of its own for every path and unit, however long the path is', () => {
  const names = ['x', 'é'.repeat(200), `${'é'.repeat(200)}y`].map((value) => {
    const text = `domain: a\ndescriptors:\n  - { key: k, value: ${value}, exact: true, rate_limit: { unit: day, requests_per_unit: 1 } }`;
    return (
      readConfiguration([{ name: 'a.yaml', text }])
        .domains?.get('a')
        ?.children.get(`k_${value}`)?.rule?.limitName ?? ''
    );
  });
  expect(names[0]).toBe('envoy:a.k_x:day');
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(128);
});

test('anchors, aliases and merge keys are read as the reference reads them', () => {
  const text = `domain: a
descriptors:
  - &one { key: k, rate_limit: &limit { unit: day, requests_per_unit: 1 } }
  - { <<: *one, value: v, shadow_mode: true }
  - { key: l, rate_limit: *limit }
`;
  const { domains } = readConfiguration([{ name: 'a.yaml', text }]);
  const children = domains?.get('a')?.children;
  expect([...(children?.keys() ?? [])]).toEqual(['k', 'k_v', 'l']);
  for (const [, node] of children ?? []) expect(node.rule).toMatchObject({ unit: 'day', requestsPerUnit: 1 });
});

test('aliases that multiply are bounded', () => {
  const levels = Array.from({ length: 20 }, (_, level) => {
    const below = level === 0 ? '[]' : `*l${level - 1}`;
    const eight = Array.from({ length: 8 }, (__, index) => `{ key: k${index}, descriptors: ${below} }`);
    return `  - { key: level${level}, descriptors: &l${level} [${eight.join(', ')}] }`;
  });
  expect(mistakesOf(`domain: a\ndescriptors:\n${levels.join('\n')}`).join('\n')).toMatch(/at most 20000 descriptors/);
});
