import { join } from 'node:path';
import { type Batch, joinInt64 } from '@quotadb/engine';
import { StorageError } from '../files/errors.js';
import type { FileSystem } from '../files/file-system.js';

/** With more than this it is not a component that is bad but the directory: nothing is left out then. */
const MAXIMUM_QUARANTINED = 100_000;

/** What was left out of a restored store, and where it is kept. */
export interface Quarantined {
  readonly components: number;
  readonly path: string;
  /** About the first of them. */
  readonly reason: string;
}

/** Lines of a quarantine, and the reason of the first. */
export interface QuarantinedLines {
  readonly reason: string;
  readonly lines: readonly string[];
}

/**
 * Components that recovery leaves out, because no server can have written them (engine/batches/batch-gate.ts): their
 * record is whole, and the rest of it is restored. They are kept, one a line, for the operator.
 */
export class Quarantine {
  private lines: string[] = [];
  reason = '';

  get count(): number {
    return this.lines.length;
  }

  readonly take = (batch: Batch, index: number, reason: string): void => {
    this.add({ reason, lines: [JSON.stringify({ reason, ...describe(batch, index) })] });
  };

  /** What another thread has left out. */
  add({ reason, lines }: QuarantinedLines): void {
    if (this.lines.length + lines.length > MAXIMUM_QUARANTINED)
      throw new StorageError(
        `more than ${MAXIMUM_QUARANTINED} components cannot be restored, such as one because of its ${reason}. ` +
          'Restore a backup',
      );
    if (this.lines.length === 0) this.reason = reason;
    for (const line of lines) this.lines.push(line);
  }

  /** Empties it, for the thread that keeps them; undefined where there are none. */
  takeAll(): QuarantinedLines | undefined {
    if (this.lines.length === 0) return undefined;
    const { reason, lines } = this;
    this.lines = [];
    return { reason, lines };
  }

  /** Writes the lines to a file of the directory; undefined where there are none. */
  async keep(fileSystem: FileSystem, directory: string, nowMs: number): Promise<Quarantined | undefined> {
    if (this.lines.length === 0) return undefined;
    const path = join(directory, `quarantine-${nowMs}.ndjson`);
    await fileSystem.remove(path);
    const file = await fileSystem.create(path);
    try {
      await file.append(Buffer.from(`${this.lines.join('\n')}\n`));
      await file.sync();
    } finally {
      await file.close();
    }
    await fileSystem.syncDirectory(directory);
    return { components: this.lines.length, path, reason: this.reason };
  }
}

function describe(batch: Batch, index: number): object {
  const where = { origin: hexadecimal(batch.origin), shard: batch.shardIndex };
  if (index === -1) return { ...where, to: batch.to };
  const key = batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index]);
  return {
    ...where,
    key: Buffer.from(key).toString('utf8'),
    keyBytes: hexadecimal(key),
    version: batch.version[index],
    born: batch.born[index],
    present: batch.present[index] === 1,
    positive: unsigned(batch.positiveHigh[index], batch.positiveLow[index]),
    negative: unsigned(batch.negativeHigh[index], batch.negativeLow[index]),
    expiresAtMs: batch.expiresAtMs[index],
    decided: batch.decided[index],
    floorMs: batch.floorMs[index],
    cancels: batch.cancels.slice(batch.cancelStart(index), batch.cancelEnd[index]).map((cancel) => ({
      origin: hexadecimal(cancel.origin),
      born: cancel.born,
      positive: String(cancel.positive),
      negative: String(cancel.negative),
    })),
  };
}

function hexadecimal(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function unsigned(high: number, low: number): string {
  return String(BigInt.asUintN(64, joinInt64(high, low)));
}
