import { basename, join } from 'node:path';
import { type Engine, Restore } from '@quotadb/engine';
import { StorageError } from '../files/errors.js';
import { type DataFiles, findDataFiles, logPath, snapshotPath } from '../files/file-names.js';
import { type FileSystem, nodeFileSystem } from '../files/file-system.js';
import { RecordScanner } from '../format/record-scanner.js';
import { type Manifest, manifestPath, readManifest } from '../log/manifest.js';
import { writeSnapshot } from '../log/snapshot.js';
import { SectionApplier } from './apply-sections.js';
import { Quarantine } from './quarantine.js';

/** A piece of a file that could not be read. */
export interface Loss {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
  readonly reason: string;
}

export interface Repaired {
  readonly losses: readonly Loss[];
  readonly components: number;
  /** Where the old files are now; undefined where no file was damaged and nothing was done. */
  readonly movedTo: string | undefined;
}

export interface RepairOptions {
  readonly directory: string;
  /** Empty, with the origin of the directory. */
  readonly engine: Engine;
  readonly nowMs: number;
  /** See RecoveryOptions. */
  readonly expectsManifest?: boolean;
  readonly fileSystem?: FileSystem;
}

/**
 * Salvages whole records: every one with a right checksum, in any file, goes into the store, and the store becomes a
 * new snapshot. Where another record of its round is damaged, a transaction may be restored in part. The old files are
 * moved aside, not deleted.
 *
 * After a loss peers may hold more of this node's changes than it does. The snapshot claims no watermark, so that peers
 * send all changes again, and the caller makes the next start a new incarnation, so that they are accepted.
 */
export async function repair(options: RepairOptions): Promise<Repaired> {
  const { directory, engine, nowMs, fileSystem = nodeFileSystem } = options;
  const files = await findDataFiles(fileSystem, directory);
  const quarantine = new Quarantine();
  const restore = new Restore(engine, quarantine.take);
  const applier = new SectionApplier(restore);
  const losses: Loss[] = [];
  const paths = [
    ...files.snapshots.map((number) => snapshotPath(directory, number)),
    ...files.logs.map((number) => logPath(directory, number)),
  ];
  for (const path of paths) losses.push(...(await salvage(fileSystem, path, applier)));
  const manifest = await readManifest(fileSystem, directory);
  losses.push(...missingSegments(directory, files, manifest?.number ?? 0));
  losses.push(...(await missingEnd(fileSystem, directory, files, manifest)));
  if (manifest === undefined && options.expectsManifest === true)
    losses.push({ path: manifestPath(directory), offset: 0, bytes: 0, reason: 'the file is missing' });
  // A server that starts leaves these out automatically; they are a loss where there is another one.
  if (losses.length > 0 && quarantine.count > 0)
    losses.push({ path: directory, offset: 0, bytes: 0, reason: `left out ${quarantine.count}: ${quarantine.reason}` });
  if (losses.length === 0) return { losses, components: applier.components, movedTo: undefined };
  restore.finish(Math.max(nowMs, applier.newestMs));
  restore.clearWatermarks();
  const number = Math.max(0, ...files.logs, ...files.snapshots) + 1;
  const movedTo = join(directory, `damaged-${nowMs}`);
  await fileSystem.makeDirectory(movedTo);
  await writeSnapshot({ fileSystem, directory, engine, number });
  if (manifest !== undefined) paths.push(manifestPath(directory));
  for (const path of paths) await fileSystem.rename(path, join(movedTo, basename(path)));
  await fileSystem.syncDirectory(directory);
  return { losses, components: applier.components, movedTo };
}

async function salvage(fileSystem: FileSystem, path: string, applier: SectionApplier): Promise<Loss[]> {
  const scanner = await RecordScanner.open(fileSystem, path);
  const losses: Loss[] = [];
  let checkedTo = 0;
  try {
    const { header } = scanner;
    // Without its header the origin of a file's components is not known.
    if (typeof header === 'string') return [{ path, offset: 0, bytes: scanner.size, reason: header }];
    for (;;) {
      let record = await scanner.next();
      if (record?.roundGoesOn && record.offset >= checkedTo) {
        const { offset } = record;
        const last = await scanner.findRoundEnd(offset);
        // A write that a crash cut short: a server that starts leaves it out too.
        if (last === undefined) {
          losses.push({ path, offset, bytes: scanner.size - offset, reason: 'the last record of a round is missing' });
          return losses;
        }
        checkedTo = last.end;
        scanner.offset = offset;
        record = await scanner.next();
      }
      if (record !== undefined) {
        try {
          applier.apply(record.sections, header.origin, record.nowMs);
        } catch (error) {
          if (error instanceof StorageError) throw error;
          const { offset, end } = record;
          losses.push({ path, offset, bytes: end - offset, reason: (error as Error).message });
        }
        continue;
      }
      if (scanner.problem === undefined) return losses;
      const { offset, problem } = scanner;
      const later = await scanner.findBehind(offset);
      const end = later?.offset ?? scanner.size;
      if (later === undefined && (await scanner.isZeroFrom(offset))) return losses;
      losses.push({ path, offset, bytes: end - offset, reason: problem });
      scanner.offset = end;
      scanner.problem = undefined;
    }
  } finally {
    await scanner.close();
  }
}

function missingSegments(directory: string, { logs, snapshots }: DataFiles, newest: number): Loss[] {
  const losses: Loss[] = [];
  const end = Math.max(logs.at(-1) ?? 0, newest);
  for (let number = snapshots.at(-1) ?? 1; number <= end; number++) {
    if (logs.includes(number)) continue;
    losses.push({ path: logPath(directory, number), offset: 0, bytes: 0, reason: 'the file is missing' });
  }
  return losses;
}

/** The end of the newest segment that was synced and is gone. */
async function missingEnd(
  fileSystem: FileSystem,
  directory: string,
  { logs }: DataFiles,
  manifest: Manifest | undefined,
): Promise<Loss[]> {
  if (manifest === undefined || !logs.includes(manifest.number)) return [];
  const path = logPath(directory, manifest.number);
  const file = await fileSystem.openForReading(path);
  await file.close();
  if (file.size >= manifest.synced) return [];
  return [{ path, offset: file.size, bytes: manifest.synced - file.size, reason: 'the end of the file is missing' }];
}
