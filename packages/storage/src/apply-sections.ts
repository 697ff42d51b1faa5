import { Batch, type Restore } from '@quotadb/engine';
import { ByteReader } from './bytes.js';
import { StorageError } from './errors.js';
import { readBatch, readDropped, Section } from './sections.js';

/** Restores the sections of records into a store. */
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
        readBatch(reader, this.batch, kind === Section.own, writtenBy);
        this.components += this.batch.count;
        if (!this.restore.apply(this.batch, writtenAtMs)) {
          throw new StorageError('the data on disk does not fit into memory: start with a larger --max-memory');
        }
      } else if (kind === Section.dropped) {
        this.restore.drop(readDropped(reader));
      } else if (kind === Section.end) {
        this.ended = true;
      } else {
        throw new StorageError(`a record holds a section of kind ${kind}, which this version does not know`);
      }
    }
  }
}
