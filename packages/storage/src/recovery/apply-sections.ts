import { Batch, type Restore } from '@quotadb/engine';
import { StorageError } from '../files/errors.js';
import { ByteReader } from '../format/bytes.js';
import { readBatchHeader, readComponents, readDropped, Section, skipComponents } from '../format/sections.js';

/** Restores the sections of records into a store; of a thread's share of the shards, where several threads restore. */
export class SectionApplier {
  components = 0;
  /** The latest time at which a record was written. */
  newestMs = 0;
  /** The last section of a snapshot was there. */
  ended = false;
  private readonly restore: Restore;
  private readonly batch = new Batch();

  constructor(restore: Restore) {
    this.restore = restore;
  }

  /** `writtenBy` is the origin whose own components the file holds, `writtenAtMs` its time when it wrote the record. */
  apply(sections: Uint8Array, writtenBy: Uint8Array, writtenAtMs: number): void {
    const reader = new ByteReader(sections);
    this.newestMs = Math.max(this.newestMs, writtenAtMs);
    while (!reader.isAtEnd) {
      const kind = reader.byte();
      if (kind === Section.own || kind === Section.other) {
        this.applyBatch(reader, kind === Section.own, writtenBy, writtenAtMs);
      } else if (kind === Section.dropped) {
        this.restore.drop(readDropped(reader));
      } else if (kind === Section.end) {
        this.ended = true;
      } else {
        throw new StorageError(`a record holds a section of kind ${kind}, which this version does not know`);
      }
    }
  }

  private applyBatch(reader: ByteReader, isOwn: boolean, writtenBy: Uint8Array, writtenAtMs: number): void {
    const { batch, restore } = this;
    readBatchHeader(reader, batch, isOwn, writtenBy);
    if (!restore.isShardOfShare(batch.shardIndex)) {
      restore.passOver(batch.origin, skipComponents(reader).hasCancels);
      return;
    }
    readComponents(reader, batch);
    this.components += batch.count;
    if (!restore.apply(batch, writtenAtMs))
      throw new StorageError('the data on disk does not fit into memory: start with a larger --max-memory');
  }
}
