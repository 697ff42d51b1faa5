import { ConfigurationError, loadConfiguration, settingNames, settingOf } from '@quotadb/config';
import { expect, test } from 'vitest';
import { readCorpus } from './corpus.js';
import { Mutator } from './mutate.js';

const corpus = readCorpus('config');
const everything = corpus.map(({ bytes }) => bytes);
const SEEDS = 2000;

/** Accepted with values that its kinds would accept again, or refused with words; never anything else. */
function judge(text: string): string {
  try {
    const configuration = loadConfiguration({ flags: {}, environment: {}, file: { path: 'q.json', text } });
    for (const name of settingNames) {
      const { kind } = settingOf(name);
      if (name !== 'users') kind.parse(kind.print(configuration[name]));
    }
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    expect(error.mistakes.length).toBeGreaterThan(0);
    return 'refused';
  }
}

test.each(corpus.map(({ name, bytes }) => [name, bytes] as const))(
  'what is nearly %s is taken or refused with reasons',
  (_, bytes) => {
    for (let seed = 1; seed <= SEEDS; seed++) judge(new Mutator(seed).mutate(bytes, everything).toString('utf8'));
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as { roles?: unknown }).roles).toBeUndefined();
  },
);

test('a file of ten megabytes and one nested a hundred thousand deep are refused', () => {
  expect(judge(`{"region":"${'a'.repeat(10_000_000)}"}`)).toBe('refused');
  expect(judge(`{"users":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBe('refused');
});
