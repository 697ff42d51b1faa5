import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../files/errors.js';
import { type Flock, lockDirectory } from '../files/lock.js';
import { syncFile, writeWholeFile } from '../files/whole-file.js';
import { FORMAT_VERSION, OLDEST_READ_VERSION } from '../format/format.js';
import { type OldCopy, readOldCopy, removeOldCopy } from './old-copy.js';

/**
 * The replica that a data directory belongs to. The replica id stays for ever; the incarnation stays as long as the
 * directory does, because changes that a replica once sent of its own components must never be taken back. A backup is
 * not the disk of the incarnation that wrote it, so a server that starts from it is a new one, unless
 * --keep-incarnation says that the other is gone for good. The same goes for a directory that was never synced when the
 * power failed: changes that it lost may have reached peers, and its tokens may have been spent.
 */
export interface Identity {
  readonly replicaId: string;
  readonly incarnation: string;
  readonly region: string;
  /** Undefined in directories from before there was replication. */
  readonly cluster?: string;
  readonly shardCount: number;
  readonly formatVersion: number;
  /** The directory was made by `quotadb backup`, and no server has started from it yet. */
  readonly isBackup?: boolean;
  /**
   * Since this boot of the machine it is written to and never synced. As long as the machine is up its memory holds
   * what was written; after that the disk may hold any part of it, so a server that starts from it is a new
   * incarnation.
   */
  readonly unsyncedSinceBoot?: string;
  /** A server has kept a manifest in it (manifest.ts): without one, files are missing. */
  readonly hasManifest?: boolean;
}

export interface DirectoryOptions {
  readonly path: string;
  readonly region: string;
  readonly cluster: string;
  /** In hexadecimal digits: the id of this region's replica in its cluster. */
  readonly replicaId: string;
  readonly shardCount: number;
  /** Start from a backup as the incarnation that wrote it, which must never run again. */
  readonly keepIncarnation: boolean;
  /** Whether the server will write without ever syncing. */
  readonly isUnsynced?: boolean;
  /** Leave an old copy as it is; otherwise this start makes it a new incarnation. */
  readonly keepOldCopy?: boolean;
  /** Another one after every boot of the machine. */
  readonly bootId?: string | undefined;
  readonly flock?: Flock | undefined;
}

const IDENTITY = 'identity.json';
const ID_BYTES = 16;

export class DataDirectory {
  readonly path: string;
  identity: Identity;
  /** True when this start made the identity, or a new incarnation of it. */
  readonly isNewIncarnation: boolean;
  /** The directory is an old copy, and becomes the incarnation of `identity` with `noteNewIncarnation`. */
  readonly oldCopy: OldCopy | undefined;
  private readonly unlock: () => void;
  private isConverted = false;

  private constructor(
    path: string,
    identity: Identity,
    from: { readonly isNewIncarnation: boolean; readonly oldCopy: OldCopy | undefined },
    unlock: () => void,
  ) {
    this.path = path;
    this.identity = identity;
    this.isNewIncarnation = from.isNewIncarnation;
    this.oldCopy = from.oldCopy;
    this.unlock = unlock;
  }

  /** Synchronous: nothing else can begin before the identity is known. Throws a StorageError. */
  static open(options: DirectoryOptions): DataDirectory {
    const { path } = options;
    try {
      mkdirSync(path, { recursive: true, mode: 0o750 });
      accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw unusable(path, error as NodeJS.ErrnoException);
    }
    const unlock = lockDirectory(path, options.flock);
    try {
      const found = readIdentity(path);
      if (found !== undefined) check(found, options);
      // A directory from before there were clusters has a random id: its components become another origin's.
      const isStranger = found !== undefined && found.replicaId !== options.replicaId;
      const isCopy = found?.isBackup === true && !options.keepIncarnation;
      const bootId = options.bootId ?? bootIdOfMachine();
      const unsynced = found?.unsyncedSinceBoot;
      const mayHaveLost = unsynced !== undefined && unsynced !== bootId;
      const isOther = found === undefined || isStranger || isCopy || mayHaveLost;
      const oldCopy =
        isOther || options.keepOldCopy === true ? undefined : readOldCopy(path, found.replicaId + found.incarnation);
      const isNew = isOther || oldCopy !== undefined;
      // Bytes that an earlier process left unsynced stay so until a process closes the directory.
      const isUnsynced = options.isUnsynced === true || (unsynced !== undefined && !mayHaveLost);
      // A backup has none yet.
      const hasManifest = found?.hasManifest === true && found.isBackup !== true;
      const identity: Identity = {
        replicaId: options.replicaId,
        incarnation: oldCopy?.nextIncarnation ?? (isOther ? randomId() : found.incarnation),
        region: options.region,
        cluster: options.cluster,
        shardCount: options.shardCount,
        formatVersion: FORMAT_VERSION,
        ...(isUnsynced && { unsyncedSinceBoot: bootId }),
        ...(hasManifest && { hasManifest }),
      };
      // The identity names the newest format before any file of that format is written.
      const isOlder = found?.formatVersion !== FORMAT_VERSION;
      const isMarked = unsynced !== identity.unsyncedSinceBoot;
      const directory = new DataDirectory(path, identity, { isNewIncarnation: isNew, oldCopy }, unlock);
      if (isOther || isOlder || isMarked || found.isBackup === true) directory.save(identity);
      return directory;
    } catch (error) {
      unlock();
      if (error instanceof StorageError) throw error;
      throw unusable(path, error as NodeJS.ErrnoException);
    }
  }

  /** The first manifest of this directory is on disk: from now on one without it is not trusted. */
  noteManifest(): void {
    if (this.identity.hasManifest === true) return;
    this.identity = { ...this.identity, hasManifest: true };
    this.save(this.identity);
  }

  /** The files hold the data of the new incarnation: see new-incarnation.ts. */
  noteNewIncarnation(): void {
    if (this.oldCopy === undefined) return;
    this.isConverted = true;
    this.save(this.identity);
    removeOldCopy(this.path);
  }

  /** Replica id and incarnation, as the engine needs them. */
  get origin(): Uint8Array {
    return Buffer.from(this.identity.replicaId + this.identity.incarnation, 'hex');
  }

  /** `isWritten`: the process has written everything. Otherwise the directory stays one that was not synced. */
  close(isWritten = true): void {
    try {
      if (isWritten && this.identity.unsyncedSinceBoot !== undefined) this.sync();
    } finally {
      this.unlock();
    }
  }

  /** The incarnation of an old copy stays until its data is that of the new one. */
  private save(identity: Identity): void {
    const { oldCopy, isConverted, path } = this;
    const old = oldCopy === undefined || isConverted ? undefined : oldCopy.origin.slice(-2 * ID_BYTES);
    writeIdentity(path, old === undefined ? identity : { ...identity, incarnation: old });
  }

  /** Syncs every file, so that a power failure loses none of it. */
  private sync(): void {
    for (const entry of readdirSync(this.path, { withFileTypes: true }))
      if (entry.isFile()) syncFile(join(this.path, entry.name));
    syncFile(this.path);
    const { unsyncedSinceBoot: _, ...synced } = this.identity;
    this.save(synced);
  }
}

/** Where the system has no boot id, each call returns another one. */
function bootIdOfMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomId();
  }
}

function unusable(path: string, error: NodeJS.ErrnoException): StorageError {
  const reasons: Record<string, string> = {
    EACCES: 'this user may not write to it',
    EPERM: 'this user may not write to it',
    EROFS: 'its file system is read-only',
    ENOSPC: 'the disk is full',
    ENOTDIR: 'it is not a directory',
    EEXIST: 'it is not a directory',
  };
  return new StorageError(
    `the data directory ${path} cannot be used: ${reasons[error.code ?? ''] ?? error.message}. ` +
      'Choose another with --data, or start without one to keep everything in memory',
  );
}

function randomId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

export function readIdentity(directory: string): Identity | undefined {
  const path = join(directory, IDENTITY);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const identity = JSON.parse(text) as Identity;
    if (/^[0-9a-f]{32}$/.test(identity.replicaId) && /^[0-9a-f]{32}$/.test(identity.incarnation)) return identity;
  } catch {
    // Reported below.
  }
  throw new StorageError(`${path} is not readable as an identity. Restore it from a backup of this directory`);
}

function check(found: Identity, { path, region, cluster, shardCount }: DirectoryOptions): void {
  if (found.formatVersion < OLDEST_READ_VERSION || found.formatVersion > FORMAT_VERSION) {
    throw new StorageError(
      `the data directory ${path} has format ${found.formatVersion}; ` +
        `this version reads formats ${OLDEST_READ_VERSION} to ${FORMAT_VERSION}`,
    );
  }
  if (found.region !== region) {
    throw new StorageError(
      `the data directory ${path} belongs to region "${found.region}", not "${region}": ` +
        `start with --region ${found.region.replace('/', ' --member ')}, or with another --data`,
    );
  }
  if (found.cluster !== undefined && found.cluster !== cluster) {
    throw new StorageError(
      `the data directory ${path} belongs to cluster "${found.cluster}", not "${cluster}": ` +
        `start with --cluster ${found.cluster}, or with another --data`,
    );
  }
  if (found.shardCount !== shardCount) {
    throw new StorageError(
      `the data directory ${path} was made with --shards ${found.shardCount}; that cannot be changed to ${shardCount}`,
    );
  }
}

export function writeIdentity(directory: string, identity: Identity): void {
  writeWholeFile(directory, IDENTITY, `${JSON.stringify(identity, null, 2)}\n`);
}
