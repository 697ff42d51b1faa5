import { Batch } from '@quotadb/engine';
import { ByteReader } from '../format/bytes.js';
import { FILE_HEADER_BYTES, type FileHeader } from '../format/format.js';
import type { RecordScanner, ScannedRecord } from '../format/record-scanner.js';
import { readBatchHeader, Section, skipComponents } from '../format/sections.js';
import { SHARDS_AT_ONCE } from '../format/walk-writer.js';

/**
 * About how many keys a snapshot holds, a little less rather than more. Those of the shards that were written first are
 * counted, which are a fair sample: a key's hash chooses its shard. The scanner stands at the beginning, and does so
 * afterwards.
 */
export async function estimateKeys(scanner: RecordScanner, { origin }: FileHeader): Promise<number> {
  const sample = new KeySample(origin);
  for (let record = await scanner.next(); record !== undefined; record = await scanner.next())
    if (!sample.count(record)) break;
  scanner.offset = FILE_HEADER_BYTES;
  scanner.problem = undefined;
  return sample.scaledTo(scanner.size);
}

/** Tables of keys are made a little smaller than estimated: the rest is added as keys come. */
const CERTAIN_PART = 31 / 32;

class KeySample {
  private readonly writtenBy: Uint8Array;
  private readonly batch = new Batch();
  /** By origin: a key has one component of each origin at most. */
  private readonly components = new Map<string, number>();
  private bytes = 0;

  constructor(writtenBy: Uint8Array) {
    this.writtenBy = writtenBy;
  }

  /** Counts the components of a record; false where the sample has ended, or what follows cannot be read. */
  count(record: ScannedRecord): boolean {
    const reader = new ByteReader(record.sections);
    try {
      while (!reader.isAtEnd) {
        const start = reader.position;
        if (!this.countSection(reader)) return false;
        this.bytes += reader.position - start;
      }
    } catch {
      return false;
    }
    return true;
  }

  private countSection(reader: ByteReader): boolean {
    const { batch, components } = this;
    const kind = reader.byte();
    if (kind !== Section.own && kind !== Section.other) return false;
    readBatchHeader(reader, batch, kind === Section.own, this.writtenBy);
    if (batch.shardIndex >= SHARDS_AT_ONCE) return false;
    const origin = Buffer.from(batch.origin).toString('latin1');
    components.set(origin, (components.get(origin) ?? 0) + skipComponents(reader).count);
    return true;
  }

  scaledTo(fileBytes: number): number {
    const most = Math.max(0, ...this.components.values());
    return this.bytes === 0 ? 0 : Math.floor(most * Math.max(fileBytes / this.bytes, 1) * CERTAIN_PART);
  }
}
