import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultConfiguration } from '@quotadb/config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { looseFileModes } from './file-modes.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-modes-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** The warnings of a server whose files have these modes. */
async function warnings(modes: { key: number; config: number; data: number }): Promise<string[]> {
  const path = (name: string) => join(directory, name);
  for (const name of ['key', 'config']) await writeFile(path(name), '');
  await mkdir(path('data'));
  for (const [name, mode] of Object.entries(modes)) await chmod(path(name), mode);
  const config = { ...defaultConfiguration(), tlsKey: path('key'), dataDirectory: path('data') };
  return looseFileModes({ ...config, replicationKey: path('missing') }, path('config'));
}

test('files that only their user, or the group of the server, may use are fine', async () => {
  expect(await warnings({ key: 0o640, config: 0o664, data: 0o770 })).toEqual([]);
});

test('a key that everybody may read, and files that everybody may write, are named with the remedy', async () => {
  expect(await warnings({ key: 0o644, config: 0o646, data: 0o777 })).toEqual([
    expect.stringMatching(/private key of --tls-key, .*read by every user \(mode 644\): chmod go-rwx/),
    expect.stringMatching(/--config, .*changed by other users \(mode 646\): chmod go-w/),
    expect.stringMatching(/--data, .*changed by other users \(mode 777\)/),
  ]);
});
