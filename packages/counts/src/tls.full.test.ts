import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedPostgres } from './adapters/embedded/embedded-postgres.js';
import { type CountsService, createCountsService } from './service.js';
import { makeAuthority, makeServerCertificate } from './testing/certificates.js';

let folder: string;
let postgres: EmbeddedPostgres;
let port: number;
/** Over the Unix socket, to look behind the service's back. */
let session: pg.Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quotadb-tls-'));
  const authority = makeAuthority('the right authority');
  const { certificatePem, keyPem } = makeServerCertificate('localhost', authority);
  await writeFile(join(folder, 'right.pem'), authority.certificatePem);
  await writeFile(join(folder, 'wrong.pem'), makeAuthority('the wrong authority').certificatePem);
  port = await freePort();
  postgres = new EmbeddedPostgres({ settings: ['listen_addresses=localhost', `port=${port}`] });
  const options = { ...(await postgres.start()), port };
  session = new pg.Client(options);
  await session.connect();
  const { rows } = await session.query<{ data_directory: string }>('SHOW data_directory');
  const directory = rows[0]!.data_directory;
  await writeForPostgres(directory, 'server.crt', certificatePem);
  await writeForPostgres(directory, 'server.key', keyPem);
  await setSsl('on');
});

afterAll(async () => {
  await session.end();
  await postgres.stop();
  await rm(folder, { recursive: true });
});

/** PostgreSQL refuses a key that others can read, and must be able to read it itself. */
async function writeForPostgres(directory: string, name: string, text: string): Promise<void> {
  const path = join(directory, name);
  const { uid, gid } = await stat(directory);
  await writeFile(path, text, { mode: 0o600 });
  if (process.getuid?.() === 0) await chown(path, uid, gid);
}

async function setSsl(value: 'on' | 'off'): Promise<void> {
  await session.query(`ALTER SYSTEM SET ssl = ${value}`);
  await session.query('SELECT pg_reload_conf()');
  for (;;) {
    const { rows } = await session.query<{ ssl: string }>('SHOW ssl');
    if (rows[0]!.ssl === value) return;
  }
}

async function withService(
  host: string,
  query: string,
  work: (service: CountsService, troubles: readonly unknown[]) => Promise<void>,
): Promise<void> {
  const troubles: unknown[] = [];
  const connectionString = `postgresql://quotadb@${host}:${port}/postgres?${query}`;
  const service = createCountsService({ postgres: { connectionString }, onTrouble: (error) => troubles.push(error) });
  try {
    await work(service, troubles);
  } finally {
    await service.stop();
  }
}

const rightAuthority = () => `sslrootcert=${encodeURIComponent(join(folder, 'right.pem'))}`;
const wrongAuthority = () => `sslrootcert=${encodeURIComponent(join(folder, 'wrong.pem'))}`;

test('sslmode=verify-full with the right authority: every connection of the service is encrypted', async () => {
  await withService('localhost', `sslmode=verify-full&${rightAuthority()}`, async ({ api }) => {
    await api.internal.initialize('secret', 1n);
    expect((await api.external.increase('secret', 2n)).value).toBe(3n);
    const { rows } = await session.query<{ ssl: boolean }>(
      "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'quotadb-counts'",
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.every(({ ssl }) => ssl)).toBe(true);
  });
});

test.each([
  ['a certificate of another authority', 'localhost', () => `sslmode=verify-full&${wrongAuthority()}`, /certificate/],
  [
    'a certificate of an authority that the settings do not name',
    'localhost',
    () => 'sslmode=verify-full',
    /certificate/,
  ],
  ['a certificate for another host', '127.0.0.1', () => `sslmode=verify-full&${rightAuthority()}`, /IP: 127\.0\.0\.1/],
  ['sslmode=require, which verifies no less', 'localhost', () => `sslmode=require&${wrongAuthority()}`, /certificate/],
])('%s: refused, nothing is sent', async (_name, host, query, reason) => {
  await withService(host, query(), async ({ api }, troubles) => {
    const attempts = [api.external.increase('secret', 1n), api.internal.get('secret')];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'database_unavailable' } });
    }
    expect(troubles[0]).toMatchObject({ cause: { message: expect.stringMatching(reason) } });
  });
});

test('a server without TLS is refused where TLS was asked for, and found again when it has it', async () => {
  await setSsl('off');
  await withService('localhost', `sslmode=verify-full&${rightAuthority()}`, async ({ api }, troubles) => {
    await expect(api.external.increase('secret', 1n)).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(troubles[0]).toMatchObject({ cause: { message: 'The server does not support SSL connections' } });
    await setSsl('on');
    expect((await api.external.increase('secret', 1n)).value).toBe(4n);
  });
});
