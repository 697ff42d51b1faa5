import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, issueCertificate, QUOTADB_BINARY } from '../testing/index.js';
import { commandLines } from './testing/command-lines.js';
import { GuideMachine } from './testing/guide-machine.js';

/**
 * Commands of the guide outside of console blocks: servers start and stop, and other commands succeed. Their outputs
 * are of a machine in production, and not compared.
 */
const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Commands that other tests run, each with the reason. */
const ELSEWHERE: readonly RegExp[] = [
  /quotadb (bench|demo)\b|--shrink/, // by their own tests; these take minutes
  /quotadb cli$/, // a prompt: packages/cli/src/prompt
  /--envoy-config/, // docs/envoy.md: envoy-guide.full.test.ts
  /--cluster-map|--cluster call|--etcd |-p 6381/, // docs/cluster.md: cluster-guide.full.test.ts
  /quotadb cluster (init|move|rebalance|pause|resume|status)\b/, // needs etcd: packages/cli/src/cluster
  /--postgres/, // docs/counts.md: counts-guide.test.ts
  /QUOTA\.REMINT/, // needs a region that has lost its data: remint.full.test.ts
  / \| /, // a syntax, not a command
];

const pages = ['README.md', ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(inDocs)]
  .filter((path) => path.endsWith('.md') && !path.startsWith('docs/decisions/') && path !== 'docs/start.md')
  .map((path) => ({ path, lines: commandLines(readFileSync(join(root, path), 'utf8')).filter(isRunHere) }))
  .filter(({ lines }) => lines.length > 0);

function inDocs(path: string): string {
  return join('docs', path);
}

function isRunHere({ text, isRefused }: { text: string; isRefused: boolean }): boolean {
  return !isRefused && !ELSEWHERE.some((pattern) => pattern.test(text));
}

const areThere = ['redis-cli', 'redis-server', 'bash'].every(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
);

describe.skipIf(!areThere && process.env.CI !== 'true')('the commands of the guide', () => {
  let redis: RedisServer;
  let directory: string;
  beforeAll(async () => {
    redis = await startRedis();
    directory = await mkdtemp(join(tmpdir(), 'quotadb-guide-'));
    await writeFiles(directory);
  });
  afterAll(async () => {
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('are on most pages', () => {
    expect(pages.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['README.md', 'docs/certificates.md', 'docs/operating.md', 'docs/replication.md']),
    );
  });

  test.each(pages)('of $path run', { timeout: 180_000 }, async ({ lines }) => {
    const machine = await GuideMachine.start(directory, redis.port);
    try {
      for (const { text } of lines) expect([text, await machine.run(text)]).toEqual([text, 'done']);
    } finally {
      await machine.stop();
    }
  });
});

/** The files that pages name and take for granted: certificates of servers and regions, a config file, a password. */
async function writeFiles(directory: string): Promise<void> {
  const authority = createAuthority('the authority of the guide');
  const server = issueCertificate(authority, 'server');
  const files = {
    'ca.crt': authority.certificate,
    'server.crt': server.certificate,
    'server.key': server.key,
    'quotadb.json': '{}',
    'password.txt': 'correct horse battery staple\n',
  };
  await mkdir(join(directory, 'tls'));
  await mkdir(join(directory, 'regions'));
  for (const [name, text] of Object.entries(files))
    await writeFile(join(directory, 'tls', name), text, { mode: 0o600 });
  const made = [
    'init --cluster quotadb --out regions',
    'issue --region us --dir regions',
    'issue --region eu --dir regions',
  ];
  for (const words of made) {
    const { status, stderr } = spawnSync(process.execPath, [QUOTADB_BINARY, 'certs', ...words.split(' ')], {
      cwd: directory,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  }
}
