import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { syncFile, writeWholeFile } from '@quotadb/storage';
import type { UsageEvent } from './usage-event.js';

/**
 * Events on their way out, in files of the data directory's folder `usage`. A file is
 *
 *   name      | state
 *   ----------|------------------------------------------------------------------------------------------
 *   N.noted   | written before its amounts are taken out of the counters; after a crash, those that were are kept
 *   N.ready   | the disk holds that its amounts are taken out of the counters: it is delivered, then removed
 *
 *   line      | JSON
 *   ----------|------------------------------------------------------------------------------------------
 *   1         | { format, origin, events, oldestEndMs }: 1; the incarnation that took the amounts out, in
 *             | hexadecimal; how many events follow; the end of the first of their windows that ended
 *   2 …       | { key, exportedUpTo, event }: the counter in base64, its N afterwards, the event as it is sent
 *
 * N only grows. An event is sent from its file alone, so it is the same byte for byte whenever it is sent.
 */
export interface SpooledEvent {
  readonly key: string;
  readonly exportedUpTo: number;
  readonly event: UsageEvent;
}

export interface SpoolFile {
  readonly number: number;
  readonly bytes: number;
  readonly events: number;
  readonly oldestEndMs: number;
}

interface Header {
  readonly format: number;
  readonly origin: string;
  readonly events: number;
  readonly oldestEndMs: number;
}

const FORMAT = 1;
/** More than a header has. */
const HEADER_BYTES = 512;

const NOTED = '.noted';
const READY = '.ready';

export class Spool {
  /** Those that are ready, the oldest first. */
  readonly files: SpoolFile[] = [];
  /** Of those. */
  bytes = 0;
  private readonly directory: string;
  private lastNumber = 0;

  constructor(directory: string) {
    this.directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o750 });
    for (const name of this.namesWith(READY)) this.add(numberOf(name));
  }

  /** After a crash: of files that were noted, the events whose amounts are out of the counters are ready. */
  recover(isNoted: (origin: Uint8Array, event: SpooledEvent) => boolean): void {
    for (const name of this.namesWith(NOTED)) {
      const number = numberOf(name);
      const [header, ...events] = this.read(number, NOTED);
      const { origin } = this.headerOf(name, header);
      const bytes = Uint8Array.from(Buffer.from(origin, 'hex'));
      const kept = (events as SpooledEvent[]).filter((event) => isNoted(bytes, event));
      if (kept.length > 0) {
        writeWholeFile(this.directory, `${number}${READY}`, textOf(origin, kept));
        this.add(number);
      }
      rmSync(join(this.directory, name));
    }
    this.files.sort((one, other) => one.number - other.number);
  }

  /** On disk when it returns; its number. */
  note(origin: string, events: readonly SpooledEvent[], nowMs: number): number {
    this.lastNumber = Math.max(this.lastNumber + 1, Math.floor(nowMs));
    writeWholeFile(this.directory, `${this.lastNumber}${NOTED}`, textOf(origin, events));
    return this.lastNumber;
  }

  makeReady(number: number): void {
    renameSync(join(this.directory, `${number}${NOTED}`), join(this.directory, `${number}${READY}`));
    syncFile(this.directory);
    this.add(number);
  }

  /** The events of a file that is ready. */
  eventsOf({ number }: SpoolFile): UsageEvent[] {
    return (this.read(number, READY).slice(1) as SpooledEvent[]).map(({ event }) => event);
  }

  /** It is delivered. */
  remove(file: SpoolFile): void {
    rmSync(join(this.directory, `${file.number}${READY}`), { force: true });
    this.files.splice(this.files.indexOf(file), 1);
    this.bytes -= file.bytes;
  }

  private add(number: number): void {
    const { bytes, header } = readHeader(join(this.directory, `${number}${READY}`));
    this.files.push({ number, bytes, events: header.events, oldestEndMs: header.oldestEndMs });
    this.bytes += bytes;
    this.lastNumber = Math.max(this.lastNumber, number);
  }

  private headerOf(name: string, header: unknown): Header {
    try {
      return checkHeader(header as Header);
    } catch (error) {
      throw unreadable(join(this.directory, name), error);
    }
  }

  private read(number: number, ending: string): unknown[] {
    const path = join(this.directory, `${number}${ending}`);
    try {
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  private namesWith(ending: string): string[] {
    return readdirSync(this.directory)
      .filter((name) => name.endsWith(ending) && Number.isSafeInteger(numberOf(name)))
      .sort((one, other) => numberOf(one) - numberOf(other));
  }
}

function numberOf(name: string): number {
  return Number(name.slice(0, name.indexOf('.')));
}

function readHeader(path: string): { readonly bytes: number; readonly header: Header } {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(HEADER_BYTES);
    const length = readSync(file, start, 0, HEADER_BYTES, 0);
    const [line = ''] = start.toString('utf8', 0, length).split('\n', 1);
    return { bytes: fstatSync(file).size, header: checkHeader(JSON.parse(line)) };
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

function checkHeader(header: Header): Header {
  if (header?.format !== FORMAT)
    throw new Error(`it has format ${header?.format}, and this release reads format ${FORMAT}`);
  return header;
}

function unreadable(path: string, error: unknown): Error {
  const { message } = error as Error;
  return new Error(`${path} cannot be read (${message}): repair it or, to go on without its usage, move it away`);
}

function textOf(origin: string, events: readonly SpooledEvent[]): string {
  const ends = events.map(({ event }) => Date.parse(event.data.windowEnd));
  const oldestEndMs = ends.reduce((least, end) => Math.min(least, end), Number.POSITIVE_INFINITY);
  const header: Header = { format: FORMAT, origin, events: events.length, oldestEndMs };
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join('');
}
