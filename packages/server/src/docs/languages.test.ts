import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QuotadbClient } from '@quotadb/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runProgram, startTestServer, type TestServer } from '../testing/index.js';

/** The pages for other languages. Where there is an interpreter, a page is one program, and prints what it shows. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const folder = join(root, 'docs/languages');

interface Interpreter {
  readonly language: string;
  readonly command: string;
  readonly probe: readonly string[];
}

const interpreters: readonly Interpreter[] = [
  { language: 'php', command: 'php', probe: ['-r', 'exit(class_exists("Redis") ? 0 : 1);'] },
  { language: 'ruby', command: 'ruby', probe: ['-e', 'require "redis"'] },
  { language: 'python', command: '/usr/bin/python3', probe: ['-c', 'import redis'] },
];
const compiled = ['go', 'java'];

const pageOf = (language: string) => readFileSync(join(folder, `${language}.md`), 'utf8');

/** The blocks of a language in a page, one after the other. */
function blocksOf(page: string, language: string): string {
  return [...page.matchAll(/```(\w+)\n(.*?)```/gs)]
    .filter(([, kind]) => kind === language)
    .map(([, , text]) => text)
    .join('');
}

let server: TestServer;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-languages-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.stop());

describe.each(interpreters)('the page of $language', ({ language, command, probe }) => {
  const isThere = spawnSync(command, probe).status === 0;
  if (!isThere) process.stderr.write(`no ${command} with its library for Redis: its page is not run\n`);

  test.skipIf(!isThere && process.env.CI !== 'true')('prints what it shows', async () => {
    const page = pageOf(language);
    const program = join(directory, `page.${language}`);
    await writeFile(program, blocksOf(page, language).replaceAll('6380', String(server.port)));
    const env = { ...process.env, PYTHONPATH: join(root, 'clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' };
    const { code, stdout, stderr } = await runProgram(command, [program], { env });
    expect([code, stdout, stderr]).toEqual([0, blocksOf(page, 'text'), '']);
  });
});

/** The words of the commands in a page of Go or Java: `Do(ctx, "A", "b", 1)`, `call(jedis, "A", "b", "1")`. */
function commandsIn(code: string): string[][] {
  return [...code.matchAll(/(?:\.Do\(ctx|call\(jedis), ([^)]*)\)/g)].map(([, words = '']) => words.split(', '));
}

/** A word as it is sent. A name is a variable: the id of what was reserved or leased, or a cost. */
function wordOf(text: string, id: string): string {
  if (/^".*"$/.test(text)) return text.slice(1, -1);
  if (/^\d+$/.test(text)) return text;
  return text === 'used' ? '320' : id;
}

describe.each(compiled)('the page of %s', (language) => {
  test('has commands that the server has, with as many words as it takes, and that it does not refuse', async () => {
    const commands = commandsIn(blocksOf(pageOf(language), language));
    expect(commands.length).toBeGreaterThan(6);
    const client = QuotadbClient.open({ port: server.port });
    try {
      let id = '';
      for (const words of commands) {
        const sent = words.map((word) => wordOf(word, id));
        const [info] = (await client.call('COMMAND', 'INFO', sent[0]!)) as [[string, number] | null];
        expect(info, sent[0]).not.toBeNull();
        const [, arity] = info!;
        if (arity > 0) expect(sent).toHaveLength(arity);
        else expect(sent.length).toBeGreaterThanOrEqual(-arity);
        const reply = await client.send(sent);
        if (/RESERVE|ACQUIRE/.test(sent[0]!)) id = String((reply as unknown[])[1]);
      }
    } finally {
      await client.close();
    }
  });
});

test.each([...interpreters.map(({ language }) => language), ...compiled])(
  'the page of %s names commands that there are',
  async (language) => {
    const client = QuotadbClient.open({ port: server.port });
    const there = (await client.send(['COMMAND', 'LIST'])) as string[];
    await client.close();
    const named = [...pageOf(language).matchAll(/\b(?:QUOTA|RATE|WINDOW|LIMIT)\.[A-Z]+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((name) => !there.includes(name.toLowerCase()))).toEqual([]);
  },
);

test('every page of a language is tried', () => {
  const tried = [...interpreters.map(({ language }) => language), ...compiled];
  expect(readdirSync(folder).sort()).toEqual(tried.map((language) => `${language}.md`).sort());
});
