import type { Batch } from '@quotadb/engine';
import type { ByteWriter } from '../format/bytes.js';
import { COMPONENT_BYTES, Section, sharedBytes, writeComponent } from '../format/sections.js';

/** A batch as a section: what a walk that is written directly is held to. */
export function writeBatch(writer: ByteWriter, batch: Batch, isOwn: boolean): void {
  writer.reserve(COMPONENT_BYTES);
  writer.byte(isOwn ? Section.own : Section.other);
  if (!isOwn) writer.raw(batch.origin);
  writer.uint16(batch.shardIndex);
  writer.double(batch.to);
  writer.varint(batch.count);
  let before = 0;
  for (let index = 0; index < batch.count; index++) {
    writeComponent(writer, batch, index, before, sharedWithLast(batch, index));
    before = batch.version[index];
  }
}

function sharedWithLast({ keyBytes, keyEnd }: Batch, index: number): number {
  if (index === 0) return 0;
  const start = keyEnd[index - 1];
  const before = index === 1 ? 0 : keyEnd[index - 2];
  return sharedBytes(keyBytes, before, start - before, start, keyEnd[index] - start);
}
