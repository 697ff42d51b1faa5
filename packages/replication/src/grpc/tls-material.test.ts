import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CLUSTER, materialOf, testAuthority } from './testing/material.js';
import type { TlsFiles, TlsMaterial } from './tls-material.js';
import { loadTlsMaterial, TlsMaterialError, watchTlsMaterial } from './tls-material.js';

const authority = await testAuthority();
const other = await testAuthority();
const eu = await materialOf('eu', authority);
const DAY_MS = 86_400_000;

let directory: string;
let files: TlsFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-tls-'));
  files = {
    certFile: join(directory, 'eu.crt'),
    keyFile: join(directory, 'eu.key'),
    caFile: join(directory, 'ca.crt'),
  };
  await write(eu);
});
afterEach(() => rm(directory, { recursive: true }));

/** As a careful tool would: whole files take the place of others. */
async function write({ certificate, key, authority: ca }: TlsMaterial): Promise<void> {
  await replace(files.certFile, certificate);
  await replace(files.keyFile, key);
  await replace(files.caFile, ca);
}

let written = 0;
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  // File times may be coarse: every replacement gets one of its own.
  await utimes(`${file}.new`, 1e9, 1e9 + ++written);
  await rename(`${file}.new`, file);
}

describe('loading', () => {
  test('what fits together is loaded, with the identity in it', async () => {
    expect(await loadTlsMaterial(files)).toEqual({
      ...eu,
      identity: { cluster: CLUSTER, region: 'eu', mayRelay: false },
    });
  });

  test('the authority that issued it may be one of several', async () => {
    await replace(files.caFile, other.certificate + eu.authority);
    expect((await loadTlsMaterial(files)).identity.region).toBe('eu');
  });

  test.each<[string, () => Promise<void>, RegExp]>([
    ['a file that is missing', () => rm(files.keyFile), /cannot read .*eu\.key: ENOENT/],
    ['a certificate that is none', () => replace(files.certFile, 'hello'), /eu\.crt is not a certificate in PEM/],
    ['an authority that is none', () => replace(files.caFile, 'hello'), /ca\.crt is not a certificate in PEM/],
    ['a key that is none', () => replace(files.keyFile, 'hello'), /eu\.key is not a private key in PEM/],
    ['a key of another certificate', () => replace(files.keyFile, other.key), /eu\.key is not the key of .*eu\.crt/],
    [
      'another authority',
      () => replace(files.caFile, other.certificate),
      /eu\.crt was not issued by the authority in .*ca\.crt/,
    ],
    [
      'a certificate in place of the authority',
      () => replace(files.caFile, eu.certificate),
      /ca\.crt is not the certificate of an authority/,
    ],
    [
      'a certificate that names no replica',
      () => write({ ...eu, certificate: authority.certificate, key: authority.key }),
      /names no replica/,
    ],
  ])('the error for %s names the file', async (_, damage, message) => {
    await damage();
    await expect(loadTlsMaterial(files)).rejects.toThrow(TlsMaterialError);
    await expect(loadTlsMaterial(files)).rejects.toThrow(message);
  });

  test('a certificate that has expired, or is not valid yet, is reported with its date', async () => {
    await expect(loadTlsMaterial(files, Date.now() + 2 * DAY_MS)).rejects.toThrow(
      /eu\.crt has expired: it was valid until/,
    );
    await expect(loadTlsMaterial(files, Date.now() - DAY_MS)).rejects.toThrow(/eu\.crt is not valid before/);
  });
});

describe('watching', () => {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  function watch() {
    const onChange = vi.fn<(material: TlsMaterial) => void>();
    const onError = vi.fn<(error: TlsMaterialError) => void>();
    stops.push(watchTlsMaterial(files, eu, { intervalMs: 5, onChange, onError }));
    return { onChange, onError };
  }

  test('new files are loaded once they fit together, however long replacing them takes', async () => {
    const { onChange, onError } = watch();
    const next = await materialOf('eu', other);
    await write(next);
    await vi.waitUntil(() => onChange.mock.calls.length > 0);
    expect(onChange.mock.calls).toEqual([[next]]);
    expect(onError.mock.calls.length).toBeLessThanOrEqual(2);
  });

  test('unusable files are reported once, the loaded material stays, and the next usable files are loaded', async () => {
    const { onChange, onError } = watch();
    await replace(files.certFile, 'hello');
    await vi.waitUntil(() => onError.mock.calls.length === 1);
    expect(onChange).not.toHaveBeenCalled();
    const next = await materialOf('eu', other);
    await write(next);
    await vi.waitUntil(() => onChange.mock.calls.length === 1);
    expect(onChange.mock.calls).toEqual([[next]]);
  });

  test('what changed before the watching began is found, too', async () => {
    const next = await materialOf('eu', other);
    await write(next);
    const { onChange } = watch();
    await vi.waitUntil(() => onChange.mock.calls.length === 1);
  });
});
