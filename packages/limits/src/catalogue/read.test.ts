import { printMistakes } from '@quotadb/wire/documents';
import { describe, expect, test } from 'vitest';
import { CatalogueError } from './mistakes.js';
import { checkCatalogue, readCatalogue } from './read.js';

const WHOLE = `
plans:
  pro: { subjects: [acme, team-*] }
limits:
  - name: api
    domain: gateway
    kind: exact
    limit: 1000
    window: 1m
    parent: org-api
    overrides:
      - { plan: pro, limit: 5000 }
      - { subject: acme, limit: 9000, from: next-window }
      - { subject: "bot-*", limit: unlimited }
    shadow: false
    enabled: true
    starts: 2026-01-01T00:00:00Z
    ends: 2027-01-01T00:00:00+02:00
    whenUnreachable: { admit: 0.1 }
  - { name: org-api, kind: fixed, limit: 5000, window: month, timeZone: Europe/Berlin, anchorDay: 15 }
  - { name: burst, kind: bucket, limit: 100, window: 1s, burst: 20 }
  - { name: slide, kind: sliding, limit: 3, window: 10s, domain: gateway }
  - { name: jobs, kind: concurrency, limit: 3, hold: 30s, whenUnreachable: { wait: 500ms } }
  - { name: life, kind: exact, limit: 3, window: none, whenUnreachable: deny, shares: { eu: 0.5 } }
`;

function mistakesOf(text: string): string[] {
  try {
    readCatalogue(text);
  } catch (error) {
    if (error instanceof CatalogueError) return printMistakes(error.mistakes);
    throw error;
  }
  return [];
}

function limit(...fields: readonly string[]): string {
  return ['limits:', ' - name: api', ...fields.map((field) => `   ${field}`)].join('\n');
}

describe('a catalogue', () => {
  test('is read from YAML, and from the same in JSON', () => {
    const catalogue = readCatalogue(WHOLE);
    expect(catalogue.limits.map(({ name }) => name)).toEqual(['api', 'org-api', 'burst', 'slide', 'jobs', 'life']);
    expect(readCatalogue(JSON.stringify(catalogue))).toEqual(catalogue);
    expect(checkCatalogue(JSON.parse(JSON.stringify(catalogue)))).toEqual(catalogue);
  });

  test('that is empty has no limits', () => {
    expect(readCatalogue('')).toEqual({ limits: [] });
    expect(readCatalogue('limits: []')).toEqual({ limits: [] });
  });

  test('whose form is wrong in one limit is refused with the mistakes of the others too, and no more than there are', () => {
    const text = `
plans: { pro: { subjects: [acme, 7] } }
limits:
  - { name: org, kind: exakt, limit: 1, window: 1d }
  - { name: user, kind: exact, limit: 1, window: 60, parent: org, overrides: [{ plan: pro, limit: 1 }, { plan: gold, limit: 1 }] }
  - { kind: sliding, limit: 1, window: 1d }
  - { name: user, kind: sliding, limit: 1, window: week, parent: none }
`;
    expect(mistakesOf(text)).toEqual([
      expect.stringMatching(/^line 2, plans\.pro\.subjects\[1\]: /),
      expect.stringMatching(/^line 4, limits\[0\]\.kind: a kind is one of .* not 'exakt'$/),
      expect.stringMatching(/^line 5, limits\[1\]\.window: 60 has no unit/),
      expect.stringMatching(/^line 5, limits\[1\]\.overrides\[1\]\.plan: there is no plan 'gold': the plans are pro$/),
      'line 6, limits[2].name: it is missing',
      "line 7, limits[3].name: there are two limits of the name 'user'",
      expect.stringMatching(/^line 7, limits\[3\]\.window: windows of the calendar are for/),
      "line 7, limits[3].parent: there is no limit 'none'",
    ]);
  });

  test('is refused with all of its mistakes at once, each with its line and what was written', () => {
    const text = [
      'limits:',
      ' - name: api',
      '   kind: exakt',
      '   limit: -1',
      '   window: 1m',
      '   colour: red',
      ' - name: other',
      '   kind: sliding',
      '   window: 1m',
    ].join('\n');
    expect(mistakesOf(text)).toEqual([
      "line 3, limits[0].kind: a kind is one of exact, sliding, fixed, bucket, concurrency, not 'exakt'",
      'line 4, limits[0].limit: a limit is a whole number from 0 to 1125899906842623, or unlimited, not -1',
      "line 6, limits[0].colour: 'colour' is no field of it",
      'line 7, limits[1].limit: it is missing',
    ]);
  });

  test('is refused with the mistakes that one limit has in its form and in its meaning, all at once', () => {
    const text = `
limits:
  - { name: one, kind: fixed, limit: 1, window: week, anchorDay: 8, parent: nobody, colour: red }
  - { name: two, kind: exact, limit: 1, window: 1d, parent: two, overrides: [{ subject: 'a*b', limit: 1 }, { plan: gold, limit: 2 }, { limit: 2 }] }
  - { name: three, kind: exakt, limit: 1, window: 60, parent: four }
  - { name: five, kind: concurrency, limit: 1.5 }
  - { name: six, kind: sliding, limit: many, window: 60, burst: 3 }
`;
    expect(mistakesOf(text).map((mistake) => mistake.split(': ')[0])).toEqual([
      'line 3, limits[0].colour',
      'line 3, limits[0].anchorDay',
      'line 3, limits[0].parent',
      'line 4, limits[1].overrides[0].subject',
      'line 4, limits[1].overrides[1].plan',
      'line 4, limits[1].overrides[2]',
      'line 4, limits[1].parent',
      'line 5, limits[2].kind',
      'line 5, limits[2].window',
      'line 5, limits[2].parent',
      'line 6, limits[3].limit',
      'line 6, limits[3].hold',
      'line 7, limits[4].limit',
      'line 7, limits[4].window',
    ]);
  });

  test('that is no YAML is refused with the line', () => {
    expect(mistakesOf('limits:\n  - name: [')[0]).toMatch(/^line 2: /);
    expect(mistakesOf('limits:\n  - name: a\n    name: b').join()).toMatch(/^line 3: .*unique/);
    expect(mistakesOf('just words')[0]).toContain('expected object');
  });

  test('that nests deeper than a parser can follow is refused', () => {
    expect(mistakesOf('['.repeat(200_000)).length).toBeGreaterThan(0);
    expect(mistakesOf(`limits: ${'['.repeat(5000)}${']'.repeat(5000)}`).length).toBeGreaterThan(0);
  });

  test('that would unfold into millions of limits is refused', () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]', 'b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]'];
    const more = ['c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]', 'limits: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]'];
    expect(mistakesOf([...bomb, ...more].join('\n'))[0]).toMatch(/alias/i);
    expect(mistakesOf(`# ${'x'.repeat(1024 * 1024)}`)[0]).toContain('at most 1048576 bytes');
  });

  test.each([
    [['kind: exact', 'limit: 1', 'window: 60'], 'line 5, limits[0].window: 60 has no unit: write 60s or 60ms'],
    [['kind: exact', 'limit: 1', 'window: soon'], "line 5, limits[0].window: 'soon' is no duration"],
    [['kind: exact', 'limit: 1'], 'limits[0].window: a limit of kind exact has a window: 250ms'],
    [['kind: exact', 'limit: 1', 'window: 400d'], "'400d' is not 1 to 31622400000 milliseconds long"],
    [['kind: sliding', 'limit: 1', 'window: month'], 'windows of the calendar are for the kinds exact and fixed'],
    [['kind: sliding', 'limit: 1', 'window: none'], 'only a limit of kind exact can do without'],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'timeZone: UTC'], 'limits[0].timeZone: only windows of the calendar'],
    [['kind: fixed', 'limit: 1', 'window: day', 'timeZone: Mars/Olympus'], "'Mars/Olympus' is no time zone"],
    [['kind: fixed', 'limit: 1', 'window: week', 'anchorDay: 8'], 'the anchor day of a week'],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'burst: 3'], 'limits[0].burst: only a limit of kind bucket has it'],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'hold: 3s'], 'limits[0].hold: only a limit of kind concurrency'],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'whenUnreachable: deny'], 'limits[0].whenUnreachable: only limits of'],
    [['kind: bucket', 'limit: 999999999', 'window: 7ms'], 'cannot be worked with exactly'],
    [['kind: concurrency', 'limit: 1'], 'limits[0].hold: a limit of kind concurrency has it'],
    [['kind: concurrency', 'limit: 1', 'hold: 2d'], "'2d' is not 1 ms to 1 day long"],
    [
      ['kind: concurrency', 'limit: 1', 'hold: 5s', 'window: 1m'],
      'limits[0].window: a limit of kind concurrency has none',
    ],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'parent: nobody'], "limits[0].parent: there is no limit 'nobody'"],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'parent: api'], "limits[0].parent: 'api' is among its own parents"],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'domain: api'], "limits[0].domain: 'api' is the name of a limit"],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'starts: yesterday'], 'a time is written like 2026-01-01T00:00:00Z'],
    [
      ['kind: fixed', 'limit: 1', 'window: 1h', 'starts: 2026-01-02T00:00:00Z', 'ends: 2026-01-01T00:00:00Z'],
      'limits[0].ends: it ends at 2026-01-01T00:00:00Z, which is not after its start',
    ],
    [
      ['kind: fixed', 'limit: 1', 'window: 1h', 'overrides: [{limit: 1}]'],
      'an override is for a subject or for a plan',
    ],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'overrides: [{plan: x, limit: 1}]'], "there is no plan 'x': no plans"],
    [['kind: fixed', 'limit: 1', 'window: 1h', 'overrides: [{subject: "a*b", limit: 1}]'], 'a * stands at the end'],
    [
      ['kind: fixed', 'limit: 1', 'window: 1h', 'overrides: [{subject: a, limit: 1}, {subject: a, limit: 2}]'],
      "there are two overrides for subject 'a'",
    ],
    [
      ['kind: exact', 'limit: 1', 'window: none', 'overrides: [{subject: a, limit: 1, from: next-window}]'],
      'the limit has no windows',
    ],
    [['kind: exact', 'limit: 1', 'window: none', 'whenUnreachable: {admit: 0.5}'], 'only of a limit with a window'],
    [
      ['kind: exact', 'limit: 1', 'window: 1h', 'whenUnreachable: {admit: 2}'],
      'a part of the limit is a number above 0',
    ],
    [['kind: exact', 'limit: 1', 'window: 1h', 'whenUnreachable: {wait: 500}'], '500 has no unit: write 500s or 500ms'],
  ])('with %s is refused: %s', (fields, message) => {
    const [mistake] = mistakesOf(limit(...fields));
    expect(mistake).toContain(message);
    expect(mistake).toMatch(/^line \d+, /);
  });

  test('has one limit of a name, parents that end, and no more than a check can decide at once', () => {
    const fixed = (name: string, more = '') => ` - { name: ${name}, kind: fixed, limit: 1, window: 1h${more} }`;
    expect(mistakesOf(['limits:', fixed('a'), fixed('a')].join('\n'))[0]).toContain(
      'line 3, limits[1].name: there are two',
    );
    const circle = mistakesOf(['limits:', fixed('a', ', parent: b'), fixed('b', ', parent: a')].join('\n'));
    expect(circle).toHaveLength(2);
    const chain = Array.from({ length: 9 }, (_, index) =>
      fixed(`l${index}`, index === 8 ? '' : `, parent: l${index + 1}`),
    );
    expect(mistakesOf(['limits:', ...chain].join('\n'))).toEqual([
      "line 2, limits[0].parent: 'l0' has 8 parents above it: at most 7",
    ]);
    const many = Array.from({ length: 17 }, (_, index) => fixed(`l${index}`, ', domain: d'));
    expect(mistakesOf(['limits:', ...many].join('\n'))[0]).toContain(
      "'d' has 17 limits with their parents: at most 16",
    );
  });

  test('whose plans and limits together have too many overrides is refused', () => {
    const subjects = Array.from({ length: 9000 }, (_, index) => `s${index}`);
    const limits = Array.from({ length: 6 }, (_, index) => ({
      name: `l${index}`,
      kind: 'fixed',
      limit: 1,
      window: '1h',
      overrides: [{ plan: 'p', limit: 2 }],
    }));
    expect(mistakesOf(JSON.stringify({ plans: { p: { subjects } }, limits }))[0]).toContain(
      'together have 54006 overrides',
    );
  });
});
