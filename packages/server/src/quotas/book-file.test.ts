import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SavedBook } from '@quotadb/quota';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadBook, loadFormerPolicies, saveBook, saveFormerPolicies } from './book-file.js';

/** Written by version 0.1.0. */
const GOLDEN = [
  '{"set":{"home":"eu","version":1764000000000,"lastNumber":183600000,"policies":[{"number":183600000,"name":"calls",',
  '"limit":100,"windowMs":60000,"allocator":"eu","shares":[{"region":"us","fraction":0.5}],"waitMs":1000,',
  `"definedMs":1764000000000,"starters":[{"region":"eu","incarnation":"${'ab'.repeat(32)}"}]}]},`,
  `"incarnation":"${'ab'.repeat(32)}","beganMs":1763999999000,"startsFromMs":0,`,
  `"grantees":[{"origin":"${'cd'.repeat(32)}","untilMs":1764003600000},{"origin":"${'ef'.repeat(32)}","untilMs":null}],`,
  '"forgottenUpToMs":0}',
].join('');

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-book-'));
  path = join(directory, 'quotas.json');
});
afterEach(() => rm(directory, { recursive: true }));

test('a file of an earlier version is read, and written in the present one', async () => {
  await writeFile(path, GOLDEN);
  const book = loadBook(directory) as SavedBook;
  expect(book).toEqual(JSON.parse(GOLDEN));
  saveBook(directory, book);
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
    format: 2,
    checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    book,
  });
  expect(loadBook(directory)).toEqual(book);
});

test('a changed byte anywhere is found, and the message says what to do', async () => {
  saveBook(directory, JSON.parse(GOLDEN) as SavedBook);
  const text = await readFile(path, 'utf8');
  for (let at = 0; at < text.length; at += 7) {
    const damaged = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
    await writeFile(path, damaged);
    expect(() => loadBook(directory), damaged.slice(at, at + 20)).toThrow(
      /is damaged .* rename it: the policies then/s,
    );
  }
});

test('a file of a later version says so', async () => {
  await writeFile(path, '{"format":3,"book":{}}');
  expect(() => loadBook(directory)).toThrow(/it has format 3, and this release reads up to 2/);
});

test('the policies before the last change are kept apart, without anything about tokens', () => {
  expect(loadBook(directory)).toBeUndefined();
  expect(loadFormerPolicies(directory)).toBeUndefined();
  const { set } = JSON.parse(GOLDEN) as SavedBook;
  saveFormerPolicies(directory, { set });
  expect(loadFormerPolicies(directory)).toEqual({ set });
});
