import { expect, test } from 'vitest';
import { DamagedFile } from './files/errors.js';
import { logPath } from './files/file-names.js';
import { FILE_HEADER_BYTES } from './format/format.js';
import { RecordScanner } from './format/record-scanner.js';
import { repair } from './recovery/repair.js';
import { add, contentOf, makeEngine } from './testing/counters.js';
import { FaultyFileSystem } from './testing/faulty-file-system.js';
import { DIRECTORY, openDisk } from './testing/open-disk.js';

/** A log of two flushes and a write, and where its records begin. */
async function threeFlushes(): Promise<{ fileSystem: FaultyFileSystem; contents: string[]; offsets: number[] }> {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  const contents = [contentOf(engine)];
  for (let flush = 1; flush <= 3; flush++) {
    for (let key = 0; key < 3; key++) add(engine, `key-${key}`, flush * 10 + key);
    // The last one is not synced.
    await (flush < 3 ? disk.flush() : disk.write());
    contents.push(contentOf(engine));
  }
  const scanner = await RecordScanner.open(fileSystem, logPath(DIRECTORY, 1));
  const offsets: number[] = [];
  for (let record = await scanner.next(); record !== undefined; record = await scanner.next()) {
    offsets.push(record.offset);
  }
  expect(offsets).toHaveLength(3);
  return { fileSystem, contents, offsets };
}

test('a last record torn at any byte is cut and reported, and everything before it is there', async () => {
  const { fileSystem, contents, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  const whole = fileSystem.contentOf(path);
  for (let length = offsets[2]; length < whole.length; length++) {
    const torn = fileSystem.afterProcessEnd();
    torn.put(path, whole.slice(0, length));
    const { engine, recovered } = await openDisk(torn);
    expect(contentOf(engine)).toBe(contents[2]);
    if (length > offsets[2]) {
      expect(recovered.cut).toEqual({ path, offset: offsets[2], bytes: length - offsets[2] });
    }
    // What was cut stays cut: the next start finds nothing wrong.
    const next = await openDisk(torn.afterProcessEnd());
    expect(next.recovered.cut).toBeUndefined();
    expect(contentOf(next.engine)).toBe(contents[2]);
  }
});

test('a last record with any byte changed is cut too', async () => {
  const { fileSystem, contents, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  for (let at = offsets[2]; at < fileSystem.contentOf(path).length; at++) {
    const torn = fileSystem.afterProcessEnd();
    torn.contentOf(path)[at] ^= 0x41;
    expect(contentOf((await openDisk(torn)).engine)).toBe(contents[2]);
  }
});

test('a byte changed in the middle stops the start, naming the file and the place', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  for (let at = offsets[1]; at < offsets[2]; at++) {
    const damaged = fileSystem.afterProcessEnd();
    damaged.contentOf(path)[at] ^= 0x41;
    const error = await openDisk(damaged).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(DamagedFile);
    expect(error).toMatchObject({ path, offset: offsets[1] });
    expect(error.message).toContain('quotadb repair');
  }
});

test('of several segments only the newest may have a torn tail', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const left = fileSystem.afterProcessEnd();
  await openDisk(left);
  const path = logPath(DIRECTORY, 1);
  left.contentOf(path)[offsets[2] + 5] ^= 1;
  await expect(openDisk(left.afterProcessEnd())).rejects.toMatchObject({ path, offset: offsets[2] });
});

test('a segment that is missing stops the start', async () => {
  const { fileSystem } = await threeFlushes();
  await openDisk(fileSystem);
  await fileSystem.remove(logPath(DIRECTORY, 1));
  await expect(openDisk(fileSystem.afterProcessEnd())).rejects.toThrow(/log-0000000001\.qdb is missing/);
});

test('a newest segment that is missing stops the start, whatever snapshot there is', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  for (const takesSnapshot of [false, true]) {
    if (takesSnapshot) await disk.snapshot();
    add(engine, 'a', 1);
    await disk.flush();
    const left = fileSystem.afterProcessEnd();
    await left.remove(logPath(DIRECTORY, takesSnapshot ? 2 : 1));
    await expect(openDisk(left)).rejects.toThrow(/log-000000000[12]\.qdb is missing, with \d+ bytes .* were synced/);
    // Repair names the loss and keeps the rest; after that the directory can be used again.
    const { losses, movedTo } = await repair({
      directory: DIRECTORY,
      engine: makeEngine(),
      nowMs: 1,
      fileSystem: left,
    });
    expect(losses).toMatchObject([{ reason: 'the file is missing' }]);
    expect(movedTo).toBeDefined();
    expect(contentOf((await openDisk(left)).engine)).toBe(takesSnapshot ? 'a=1' : '');
  }
});

test('a log that was cut off anywhere before its synced end stops the start, and says how much is gone', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  const whole = fileSystem.contentOf(path);
  for (let length = 0; length < offsets[2]; length++) {
    const left = fileSystem.afterProcessEnd();
    left.put(path, whole.slice(0, length));
    const end = length < offsets[0] ? length : length < offsets[1] ? offsets[0] : offsets[1];
    await expect(openDisk(left)).rejects.toThrow(
      `ends at byte ${end}, and ${offsets[2] - end} more bytes of changes were`,
    );
  }
  const left = fileSystem.afterProcessEnd();
  left.put(path, whole.slice(0, offsets[1]));
  const { losses } = await repair({ directory: DIRECTORY, engine: makeEngine(), nowMs: 1, fileSystem: left });
  expect(losses).toEqual([{ path, offset: offsets[1], bytes: offsets[2] - offsets[1], reason: expect.any(String) }]);
});

test('a directory that has had a manifest is not opened without one', async () => {
  const { fileSystem } = await threeFlushes();
  for (const name of fileSystem.names) await fileSystem.remove(name);
  await expect(openDisk(fileSystem, { expectsManifest: true })).rejects.toThrow('manifest.qdb is missing');
});

test('a segment whose header was cut short held nothing', async () => {
  const { fileSystem, contents } = await threeFlushes();
  for (let length = 0; length < FILE_HEADER_BYTES; length += 7) {
    const left = fileSystem.afterProcessEnd();
    left.put(logPath(DIRECTORY, 2), new Uint8Array(length).fill(1));
    expect(contentOf((await openDisk(left)).engine)).toBe(contents[3]);
  }
});
