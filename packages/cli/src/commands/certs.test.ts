import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadTlsMaterial } from '@quotadb/replication/grpc';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { certsCommand } from './certs.js';

let directory: string;
let certs: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-certs-'));
  certs = join(directory, 'certs');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

/** As the binary does, without a process for each. */
async function run(...words: string[]): Promise<{ code: number | undefined; out: string; err: string }> {
  let code: number | undefined;
  let out = '';
  let err = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  const program = new Command('quotadb').exitOverride();
  certsCommand(program, (exit) => (code = exit));
  await program.parseAsync(['certs', ...words], { from: 'user' }).catch((error: Error) => {
    err += error.message;
  });
  vi.restoreAllMocks();
  return { code, out, err };
}

test('an authority and certificates for regions are made, and fit together', async () => {
  expect(await run('init', '--cluster', 'orders', '--out', certs)).toMatchObject({ code: 0, err: '' });
  const made = await run('issue', '--region', 'eu', '--host', 'eu.example.com', '10.0.0.7', '--dir', certs);
  expect(made).toMatchObject({ code: 0, err: '' });
  expect(await run('issue', '--region', 'hub', '--relay', '--days', '7', '--dir', certs)).toMatchObject({ code: 0 });
  expect((await readdir(certs)).sort()).toEqual(['ca.crt', 'ca.key', 'eu.crt', 'eu.key', 'hub.crt', 'hub.key']);
  const files = (name: string) => ({
    certFile: join(certs, `${name}.crt`),
    keyFile: join(certs, `${name}.key`),
    caFile: join(certs, 'ca.crt'),
  });
  expect((await loadTlsMaterial(files('eu'))).identity).toEqual({ cluster: 'orders', region: 'eu', mayRelay: false });
  expect((await loadTlsMaterial(files('hub'))).identity).toEqual({ cluster: 'orders', region: 'hub', mayRelay: true });
  for (const flag of ['--repl-cert', '--repl-key', '--repl-ca']) expect(made.out).toContain(flag);
});

test('keys can be read by their owner only, whatever the umask is', async () => {
  const before = process.umask(0);
  try {
    await run('init', '--cluster', 'orders', '--out', certs);
    await run('issue', '--region', 'eu', '--dir', certs);
  } finally {
    process.umask(before);
  }
  const mode = async (name: string) => (await stat(join(certs, name))).mode & 0o777;
  expect(await Promise.all(['ca.key', 'eu.key', 'ca.crt', 'eu.crt'].map(mode))).toEqual([0o600, 0o600, 0o644, 0o644]);
  expect((await stat(certs)).mode & 0o777).toBe(0o700);
});

test('nothing is written over', async () => {
  await run('init', '--cluster', 'orders', '--out', certs);
  await run('issue', '--region', 'eu', '--dir', certs);
  const contents = async () => Promise.all((await readdir(certs)).map((name) => readFile(join(certs, name), 'utf8')));
  const before = await contents();
  expect(await run('init', '--cluster', 'orders', '--out', certs)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/ca\.crt is there already, and is not written over/),
  });
  expect(await run('issue', '--region', 'eu', '--dir', certs)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/eu\.crt is there already/),
  });
  expect(await contents()).toEqual(before);
  const elsewhere = join(directory, 'new');
  expect(await run('issue', '--region', 'eu', '--dir', certs, '--out', elsewhere)).toMatchObject({ code: 0 });
  expect(await readdir(elsewhere)).toEqual(['eu.crt', 'eu.key']);
});

test('half a pair is not left behind', async () => {
  await run('init', '--cluster', 'orders', '--out', certs);
  const out = join(directory, 'out');
  // A link to nowhere: it is not there, and it cannot be made either.
  await mkdir(out);
  await symlink('/nowhere/at/all', join(out, 'eu.crt'));
  expect(await run('issue', '--region', 'eu', '--dir', certs, '--out', out)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/cannot write to/),
  });
  expect(await readdir(out)).toEqual(['eu.crt']);
});

test.each([
  [['init', '--cluster', 'a b'], 2, /--cluster: "a b" must be/],
  [['init', '--cluster', 'c', '--days', '0'], 2, /--days: "0" must be a whole number, 1 to 36500/],
  [['issue', '--region', 'EU'], 2, /--region: "EU" must be/],
  [['issue', '--region', 'eu', '--host', 'a b'], 2, /--host: "a b" must be/],
  [['issue', '--region', 'eu', '--days', 'x'], 2, /--days: /],
  [['issue', '--region', 'eu'], 1, /cannot read .*ca\.crt: .*"quotadb certs init" makes an authority/],
  [['issue', '--region', 'ca'], 1, /a region cannot be called "ca"/],
])('%j is refused with a clear message, and nothing is made', async (words, code, message) => {
  const flag = words[0] === 'init' ? '--out' : '--dir';
  expect(await run(...words, flag, certs)).toMatchObject({ code, out: '', err: expect.stringMatching(message) });
  expect(await readdir(directory)).toEqual([]);
});

test('an authority of another tool is refused, because it names no cluster', async () => {
  await run('init', '--cluster', 'orders', '--out', certs);
  await run('issue', '--region', 'eu', '--dir', certs);
  const other = join(directory, 'other');
  await mkdir(other);
  await writeFile(join(other, 'ca.crt'), await readFile(join(certs, 'eu.crt')));
  await writeFile(join(other, 'ca.key'), await readFile(join(certs, 'eu.key')));
  expect(await run('issue', '--region', 'us', '--dir', other)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/names no cluster/),
  });
  await writeFile(join(other, 'ca.crt'), 'hello');
  expect(await run('issue', '--region', 'us', '--dir', other)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/ca\.crt is not a certificate/),
  });
  await writeFile(join(other, 'ca.crt'), await readFile(join(certs, 'ca.crt')));
  expect(await run('issue', '--region', 'us', '--dir', other)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/ca\.key is not the key of/),
  });
});

test('a certificate can be shown', async () => {
  await run('init', '--cluster', 'orders', '--out', certs);
  await run('issue', '--region', 'eu', '--relay', '--host', '10.0.0.7', '--dir', certs);
  const { code, out } = await run('show', join(certs, 'eu.crt'));
  expect(code).toBe(0);
  expect(out).toMatch(/^kind {9}replica$/m);
  expect(out).toMatch(/^cluster {6}orders$/m);
  expect(out).toMatch(/^region {7}eu$/m);
  expect(out).toMatch(/^may relay {4}yes$/m);
  expect(out).toMatch(/^hosts {8}IP Address:10\.0\.0\.7$/m);
  expect(out).toMatch(/\(36[45] days left\)/);
  expect((await run('show', join(certs, 'ca.crt'))).out).toMatch(/^kind {9}authority$/m);
  expect(await run('show', join(certs, 'eu.key'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/is not a certificate/),
  });
  expect(await run('show', join(certs, 'no.crt'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/cannot read/),
  });
});

test('openssl agrees', async (context) => {
  const openssl = (words: string[]) => promisify(execFile)('openssl', words);
  const isThere = await openssl(['version']).then(
    () => true,
    () => false,
  );
  if (!isThere && process.env.CI !== 'true') context.skip('openssl is missing');
  await run('init', '--cluster', 'orders', '--out', certs);
  await run('issue', '--region', 'eu', '--host', 'eu.example.com', '--dir', certs);
  const file = (name: string) => join(certs, name);
  for (const purpose of ['sslserver', 'sslclient']) {
    const { stdout } = await openssl([
      'verify',
      '-x509_strict',
      '-purpose',
      purpose,
      '-CAfile',
      file('ca.crt'),
      file('eu.crt'),
    ]);
    expect(stdout.trim()).toBe(`${file('eu.crt')}: OK`);
  }
  const { stdout } = await openssl(['x509', '-in', file('eu.crt'), '-noout', '-ext', 'subjectAltName']);
  expect(stdout).toContain('URI:quotadb://orders/eu, DNS:eu.example.com');
});
