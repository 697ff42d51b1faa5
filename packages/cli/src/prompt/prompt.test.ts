import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commands } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { Hints } from './hints.js';
import { History } from './history.js';
import { splitWords } from './split-words.js';

test.each([
  ['SET a 1', ['SET', 'a', '1']],
  ['  GET   "a b"\t', ['GET', 'a b']],
  [String.raw`GET "a\"b\n\x41\\"`, ['GET', 'a"b\nA\\']],
  [String.raw`GET 'it\'s \n'`, ['GET', "it's \\n"]],
  ['GET ""', ['GET', '']],
  ['', []],
])('%j is split into its words', (line, words) => {
  expect(splitWords(line)?.map(String)).toEqual(words);
});

test('bytes that are no text come through', () => {
  expect(splitWords(String.raw`GET "\xff\x00"`)?.[1]).toEqual(Buffer.of(255, 0));
});

test.each(['GET "a', "GET 'a", 'GET "a"b', String.raw`GET "a\"`])('%j is refused', (line) => {
  expect(splitWords(line)).toBeUndefined();
});

const hints = new Hints(commands);

test.each([
  ['incr', ['incr', 'incrby', 'incrbyex', 'incrbyfloat', 'increx']],
  ['INCRBY', ['INCRBY', 'INCRBYEX', 'INCRBYFLOAT']],
  ['client l', ['list']],
  ['CLIENT SETN', ['SETNAME']],
  ['help flusha', ['flushall']],
  ['get a', []],
  ['nosuch', []],
])('%j can become %j', (line, completions) => {
  expect(hints.complete(line)).toEqual(completions);
});

test.each([
  ['incrby', ' key increment'],
  ['incrby ', 'key increment'],
  ['incrby a', ' increment'],
  ['INCRBY a ', 'increment'],
  ['incrby a 1', ''],
  ['mget a b ', '[key ...]'],
  ['client setname ', 'connection-name'],
  ['QUOTA.TAKE calls x 1 ', '[WAIT duration] [ID token]'],
  ['QUOTA.TAKE calls x 1 ID ', 'token [WAIT duration]'],
  ['quota.take calls x 1 wait 5s ', '[ID token]'],
  ['QUOTA.RESERVE calls x 5 TTL ', 'duration [WAIT duration] [ID token] [LAPSE <REFUND | CHARGE>]'],
  ['RATE.LIMIT api 3 60s', ' [cost [PUBLISH percent]]'],
  ['RATE.LIMIT api 3 60s 1 ', '[PUBLISH percent]'],
  ['ping2', ''],
  ['', ''],
])('behind %j stands %j', (line, hint) => {
  expect(hints.hint(line)).toBe(hint);
});

test('every command can be explained', () => {
  for (const { name, subcommands } of commands) {
    expect(hints.explain(name)).toContain(name.toUpperCase());
    for (const subcommand of subcommands ?? [])
      expect(hints.explain(name, subcommand.name)).toContain(subcommand.summary);
  }
});

test('help @GROUP says of each command what it does, in a line', () => {
  const hints = new Hints(commands);
  for (const group of new Set(commands.map((command) => command.group))) {
    const [, ...lines] = hints.explain(`@${group}`).split('\n');
    expect(lines.filter((line) => line.trim().split(/\s+/).length < 3)).toEqual([]);
  }
  expect(hints.explain('@quota')).toMatch(/QUOTA\.REMINT +Gives out again/);
});

test('help @GROUP lists the commands of a group, and a mistyped name gets the nearest one', () => {
  expect(hints.explain('@quota')).toMatch(/^@quota\n {2}QUOTA\.ACQUIRE +\S/);
  expect(hints.explain('@quotas')).toBe(hints.explain('@quota'));
  expect(hints.explain('@nothing-like-it')).toMatch(/^there is no group @nothing-like-it: @counter /);
  expect(hints.explain('incre')).toBe('there is no command incre; did you mean INCR?');
  const unknown = { kind: 'error', text: "ERR unknown command 'QUOTA.TAK', with args beginning with: " } as const;
  expect(hints.suggestFor('QUOTA.TAK', unknown)).toBe('did you mean QUOTA.TAKE?');
  const locked = { kind: 'error', text: 'NOAUTH Authentication required.' } as const;
  expect(hints.suggestFor('GET', locked)).toBe('log in first: AUTH user password, or --user with QUOTADB_PASSWORD');
  expect(hints.suggestFor('INCR', { kind: 'error', text: 'ERR wrong number of arguments' })).toBeUndefined();
});

test('the history is kept for its owner alone, bounded, and without passwords', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-history-'));
  try {
    const path = join(directory, 'history');
    const history = new History(path);
    for (const line of ['INCR a', 'AUTH hunter2', ' hello 3 auth web hunter2', 'CONFIG SET requirepass hunter2', '']) {
      history.add(line);
    }
    expect(await readFile(path, 'utf8')).toBe('INCR a\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFile(path, Array.from({ length: 1500 }, (_, index) => `GET ${index}\n`).join(''));
    expect(history.load().slice(0, 2)).toEqual(['GET 1499', 'GET 1498']);
    expect(history.load()).toHaveLength(1000);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  expect(new History('/nowhere/at/all').load()).toEqual([]);
  new History('/nowhere/at/all').add('x');
});
