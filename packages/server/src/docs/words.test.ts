import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * Words that hide who does what to which thing, and the words to use instead. A sentence that needs one of them lacks a
 * noun: write it anew rather than replace the word.
 */
const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\btold\b|\btells?\b(?! (?:\S+ ){0,6}apart\b)/gi, 'acknowledged, sent, notified, reports, shows: say which'],
  [/\b(?:nobody|somebody|whoever)\b/gi, 'name the actor: a peer, a client, another thread, the caller'],
  [/\bwhatever it is\b/gi, 'name the thing'],
  [/\bso (?:many|much)\b/gi, 'the number, or the noun that is counted'],
  [/\bby itself\b/gi, 'alone, or automatically'],
  [/\bwhat is\b(?![^.;:]*\?)/gi, 'the noun: "an unpublished count", not "what is withheld"'],
  [/\bsomething failed that should not\b|\bwho are you\?|\bsaid aloud\b/gi, 'what happened, to what, what to do'],
  [/\bwithheld\b|\bwithholds?\b/gi, 'unpublished'],
  // QUOTA.INFO has replied with the field `pocket-here` from the start.
  [/\bpockets?\b(?!-here)/gi, 'local balance'],
  [/\bforesees?\b|\bforeseen\b/gi, 'request a refill'],
  [/\bwhereabouts\b/gi, 'token locations'],
];

/** Made from code, whose own strings are checked; or a record of what was decided or done at its time. */
const EXEMPT = [
  ...['commands', 'configuration', 'http', 'metrics', 'benchmarks', 'redis-differences'].map(
    (name) => `docs/${name}.md`,
  ),
  /^docs\/decisions\/\d/,
];

interface Passage {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** A comment, a regular expression, or a string. Expressions are matched so that a quote in one opens no string. */
const TOKENS = new RegExp(
  [
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*/.source,
    /(?<=[=(,:!&|?[{};]\s*|return )\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/.source,
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/.source,
  ].join('|'),
  'g',
);

/** Text between two tags of a page's component. */
const JSX_TEXT = />[^<>{}=;()]*[a-z][^<>{}=;()]*</gi;

/** Comments, strings and shown text of a source file. Of a test the comments only: its strings are titles and input. */
function passagesOfSource(file: string): Passage[] {
  const source = readFileSync(join(root, file), 'utf8');
  const isTest = /\.test\.tsx?$|\/testing\//.test(file);
  const tokens = [...source.matchAll(TOKENS)].filter(([token]) =>
    (isTest ? /^\/[/*]/ : /^(?:\/[/*]|['"`])/).test(token),
  );
  const shown = file.endsWith('.tsx') ? [...source.matchAll(JSX_TEXT)] : [];
  return [...tokens, ...shown].map(({ 0: text, index }) => ({
    file,
    line: lineAt(source, index),
    text: unwrapped(text),
  }));
}

/** Paragraphs of a page, without code, addresses, and titles of tests, which are quoted as they are. */
function passagesOfPage(file: string): Passage[] {
  const page = readFileSync(join(root, file), 'utf8')
    .replaceAll(/\[[^\]]*\]\([^)\s]*\.test\.ts\)/g, blank)
    .replaceAll(/\]\([^)\s]*\)|`[^`\n]*`/g, blank);
  return [...page.matchAll(/(?:[^\n]+\n)+/g)].map(({ 0: text, index }) => ({
    file,
    line: lineAt(page, index),
    text: unwrapped(text),
  }));
}

/** A phrase may go on in the next line of a comment or a paragraph. */
function unwrapped(text: string): string {
  return text.replaceAll(/\n[ \t]*(?:\*|\/\/)?[ \t]*/g, ' ');
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** An account of every Unix system, in a string of its own. */
const UNIX_ACCOUNT = "'nobody'";

function findingsIn(passages: readonly Passage[]): string[] {
  return passages
    .filter(({ text }) => text !== UNIX_ACCOUNT)
    .flatMap(({ file, line, text }) =>
      BANNED.flatMap(([pattern, instead]) =>
        [...text.matchAll(pattern)].map(({ 0: found, index }) => {
          const around = text.slice(Math.max(0, index - 40), index + 40).trim();
          return `${file}:${line}: "${found}" in "…${around}…"; instead: ${instead}`;
        }),
      ),
    );
}

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => ending.test(path) && !/(?:^|\/)(?:node_modules|dist)\//.test(path))
    .map((path) => join(folder, path));
}

const packages = readdirSync(join(root, 'packages'));

describe('plain words', () => {
  test.each(packages)('in comments and messages of packages/%s', (name) => {
    const sources = filesIn(`packages/${name}`, /\.tsx?$/).filter((file) => !file.endsWith('docs/words.test.ts'));
    expect(findingsIn(sources.flatMap(passagesOfSource))).toEqual([]);
  });

  test.each(['examples', 'deploy', 'scripts'])('in comments and messages of %s', (folder) => {
    const sources = filesIn(folder, /\.mjs$/).flatMap(passagesOfSource);
    const texts = filesIn(folder, /\.(?:ya?ml|json|sh)$/).flatMap(passagesOfPage);
    expect(findingsIn([...sources, ...texts])).toEqual([]);
  });

  const pages = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...['docs', 'examples', 'deploy', '.github', 'packages'].flatMap((folder) => filesIn(folder, /\.md$/)),
  ].filter((file) => !EXEMPT.some((exempt) => (typeof exempt === 'string' ? exempt === file : exempt.test(file))));
  test.each(pages)('in %s', (page) => {
    expect(findingsIn(passagesOfPage(page))).toEqual([]);
  });

  test('a banned word is found in a comment, a string and a paragraph, over the end of a line too', () => {
    const found = (text: string) => findingsIn([{ file: 'a.ts', line: 1, text: unwrapped(text) }]).length;
    expect(found('/** The disk must be told. */')).toBe(1);
    expect(found("'nobody listens at 127.0.0.1'")).toBe(1);
    expect(found('Kept for so\nmany seconds, by\n * itself.')).toBe(2);
    expect(found('Counters tell two generations of a key apart.')).toBe(0);
    expect(found('What is a lane? A thread.')).toBe(0);
  });
});
