import { basename, dirname, join } from 'node:path';
import type { Random } from '@quotadb/engine/testing';
import type { ClockNote, KeptStart } from '@quotadb/replication';
import type { FileSystem, LogPlace, OldCopy, WritableFile } from '@quotadb/storage';
import type { Scheduler } from './scheduler.js';

/** Where a process keeps its files. */
export const DIRECTORY = '/data';

interface StoredFile {
  content: Uint8Array;
  /** Bytes that survive a power failure. Of those behind them any beginning may survive, with garbage after it. */
  synced: number;
}

type NameChange = { readonly name: string; readonly file: StoredFile | undefined };

/** As in identity.json, clock.json, starts.json and old-copy.json. */
export interface DiskNotes {
  hasManifest: boolean;
  clock: ClockNote | undefined;
  starts: readonly KeptStart<LogPlace>[];
  oldCopy: OldCopy | undefined;
}

export const NO_NOTES: DiskNotes = { hasManifest: false, clock: undefined, starts: [], oldCopy: undefined };

/** All that was on a disk at some moment. */
export interface DiskCopy {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly notes: DiskNotes;
}

/** How a disk behaves in one schedule. */
export interface DiskTraits {
  readonly writeMs: number;
  readonly syncMs: number;
}

/**
 * A disk that keeps no more promises than a real one. Bytes that were not synced may be lost, all or some; names are on
 * disk once their directory was synced; while `isFailing`, writes end half-way and nothing is synced. Every write takes
 * time, and the process that waits for it may be gone by then.
 */
export class SimulatedDisk {
  /** The small files beside the log, each written and synced as a whole. */
  notes: DiskNotes = { ...NO_NOTES };
  isFailing = false;
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  private readonly traits: DiskTraits;
  private files = new Map<string, StoredFile>();
  private durableNames = new Map<string, StoredFile>();
  private nameChanges: NameChange[] = [];
  /** The append that is under way, if any: a process that is killed meanwhile leaves a part of it. */
  private appending: { readonly file: StoredFile; readonly before: number } | undefined = undefined;

  constructor(scheduler: Scheduler, random: Random, traits: DiskTraits) {
    this.scheduler = scheduler;
    this.random = random;
    this.traits = traits;
  }

  /** The disk as one process sees it. Once `isAlive` is false, none of its calls is answered. */
  fileSystem(isAlive: () => boolean): FileSystem {
    const step = (delayMs: number) => this.step(delayMs, isAlive);
    const done = <T>(value: T) => {
      this.scheduler.settled();
      return Promise.resolve(value);
    };
    return {
      create: async (path) => {
        if (this.files.has(path)) throw errorOf('EEXIST');
        const file: StoredFile = { content: new Uint8Array(0), synced: 0 };
        this.name(path, file);
        await step(this.traits.writeMs);
        return this.writable(file, step);
      },
      openForReading: (path) => {
        const { content } = this.find(path);
        return done({
          size: content.length,
          read: (target: Uint8Array, position: number) => {
            const bytes = content.subarray(position, position + target.length);
            target.set(bytes);
            return done(bytes.length);
          },
          close: () => done(undefined),
        });
      },
      truncate: async (path, length) => {
        const file = this.find(path);
        await step(this.traits.syncMs);
        cut(file, length);
        file.synced = length;
      },
      sync: (path) => {
        if (this.isFailing) return Promise.reject(errorOf('EIO'));
        const file = this.find(path);
        file.synced = file.content.length;
        return done(undefined);
      },
      list: (directory) => {
        const names = [...this.files.keys()].filter((name) => dirname(name) === directory).sort();
        return done(names.map((name) => name.slice(directory.length + 1)));
      },
      rename: async (from, to) => {
        await step(this.traits.writeMs);
        this.name(to, this.find(from));
        this.name(from, undefined);
      },
      remove: async (path) => {
        await step(this.traits.writeMs);
        if (this.files.has(path)) this.name(path, undefined);
      },
      makeDirectory: () => done(undefined),
      syncDirectory: async () => {
        const upTo = this.nameChanges.length;
        await step(this.traits.syncMs);
        this.settleNames(upTo);
      },
    };
  }

  private writable(file: StoredFile, step: (delayMs: number) => Promise<void>): WritableFile {
    return {
      append: async (bytes) => {
        const before = file.content.length;
        const taken = this.isFailing ? this.random.below(bytes.length + 1) : bytes.length;
        grow(file, bytes.subarray(0, taken));
        this.appending = { file, before };
        await step(this.traits.writeMs);
        this.appending = undefined;
        if (taken < bytes.length) throw errorOf('ENOSPC');
      },
      sync: async () => {
        const upTo = file.content.length;
        await step(this.traits.syncMs);
        file.synced = Math.max(file.synced, Math.min(upTo, file.content.length));
      },
      truncate: async (length) => {
        await step(this.traits.writeMs);
        cut(file, length);
      },
      close: () => step(0),
    };
  }

  // ---- the end of a process -----------------------------------------------------------------------------------------

  /**
   * The process was killed, the system was not: all its writes are there, the last one perhaps in part, and a power
   * failure can still take those that were not synced.
   */
  killProcess(): void {
    if (this.appending !== undefined) {
      const { file, before } = this.appending;
      cut(file, before + this.random.below(file.content.length - before + 1));
      this.appending = undefined;
    }
  }

  /** The power failed: of unsynced names and bytes any beginning is left, and sometimes garbage behind it. */
  failPower(): void {
    this.appending = undefined;
    this.settleNames(this.random.below(this.nameChanges.length + 1));
    this.nameChanges = [];
    this.files = new Map(this.durableNames);
    for (const file of new Set(this.files.values())) {
      const unsynced = file.content.length - file.synced;
      if (unsynced === 0) continue;
      const kept = this.random.below(unsynced + 1);
      const isTorn = kept < unsynced && this.random.chance(0.3);
      if (isTorn) file.content.fill(0, file.synced + kept);
      else cut(file, file.synced + kept);
      file.synced = file.content.length;
    }
  }

  /**
   * An operator removes the newest segment of the log, the manifest, or the end of the segment, from before what the
   * manifest claims. Returns what, for the trace; undefined where no process has written anything yet.
   */
  loseData(random: Random): string | undefined {
    const logs = [...this.files.keys()].filter((name) => basename(name).startsWith('log-')).sort(compareLogs);
    const newest = logs.at(-1);
    const manifest = this.files.get(MANIFEST);
    if (newest === undefined || manifest === undefined || !this.notes.hasManifest) return undefined;
    const [number, synced] = lastEntryOf(manifest.content);
    // A segment that has just begun, and is not in the manifest yet, holds nothing.
    if (numberOf(newest) !== number) return undefined;
    const kind = random.pick(['segment', 'end', 'end', 'manifest'] as const);
    if (kind === 'manifest') this.lose(MANIFEST);
    if (kind === 'segment') this.lose(newest);
    if (kind !== 'end') return `its ${kind}`;
    const end = random.below(synced);
    cut(this.find(newest), end);
    return `the end of its log, ${synced} bytes, from byte ${end} on`;
  }

  /** A mistake, for plants: recovery does not look at the manifest. */
  hideManifest(): void {
    this.notes.hasManifest = false;
    this.lose(MANIFEST);
  }

  private lose(path: string): void {
    this.files.delete(path);
    this.durableNames.delete(path);
    this.nameChanges = this.nameChanges.filter(({ name }) => name !== path);
  }

  /** As an operator copies the directory of a process that may be running. */
  copy(): DiskCopy {
    const files = new Map([...this.files].map(([path, { content }]) => [path, content.slice()]));
    return { files, notes: { ...this.notes } };
  }

  /** The copy takes the place of everything. */
  putBack({ files, notes }: DiskCopy): void {
    this.erase();
    this.notes = { ...notes };
    for (const [path, content] of files) this.files.set(path, { content: content.slice(), synced: content.length });
    this.durableNames = new Map(this.files);
  }

  /** The volume is gone. */
  erase(): void {
    this.notes = { ...NO_NOTES };
    this.files.clear();
    this.durableNames.clear();
    this.nameChanges = [];
    this.appending = undefined;
  }

  private name(path: string, file: StoredFile | undefined): void {
    if (file === undefined) this.files.delete(path);
    else this.files.set(path, file);
    this.nameChanges.push({ name: path, file });
  }

  private settleNames(count: number): void {
    for (const { name, file } of this.nameChanges.splice(0, count)) {
      if (file === undefined) this.durableNames.delete(name);
      else this.durableNames.set(name, file);
    }
  }

  private find(path: string): StoredFile {
    const file = this.files.get(path);
    if (file === undefined) throw errorOf('ENOENT');
    return file;
  }

  private step(delayMs: number, isAlive: () => boolean): Promise<void> {
    const fails = this.isFailing;
    return new Promise((resolve, reject) => {
      this.scheduler.after(delayMs * (0.5 + this.random.next()), () => {
        if (!isAlive()) return;
        this.scheduler.settled();
        if (fails) reject(errorOf('EIO'));
        else resolve();
      });
    });
  }
}

const MANIFEST = join(DIRECTORY, 'manifest.qdb');

function numberOf(path: string): number {
  return Number.parseInt(basename(path).slice('log-'.length), 10);
}

function compareLogs(one: string, other: string): number {
  return numberOf(one) - numberOf(other);
}

/** Number of the newest segment and its synced bytes: see manifest.ts of storage. */
function lastEntryOf(manifest: Uint8Array): readonly [number, number] {
  const view = new DataView(manifest.buffer, manifest.byteOffset, manifest.length);
  const at = Math.floor(manifest.length / MANIFEST_ENTRY_BYTES - 1) * MANIFEST_ENTRY_BYTES;
  return [view.getFloat64(at, true), view.getFloat64(at + 8, true)];
}

const MANIFEST_ENTRY_BYTES = 24;

export function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

function grow(file: StoredFile, bytes: Uint8Array): void {
  const content = new Uint8Array(file.content.length + bytes.length);
  content.set(file.content);
  content.set(bytes, file.content.length);
  file.content = content;
}

function cut(file: StoredFile, length: number): void {
  file.content = file.content.slice(0, length);
  file.synced = Math.min(file.synced, length);
}
