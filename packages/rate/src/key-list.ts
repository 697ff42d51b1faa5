import { ByteInput, type Engine } from '@quotadb/engine';

const INITIAL_BYTES = 4096;
const INITIAL_KEYS = 16;

/** Names of keys that are locked together, one behind the other in a buffer that is kept. */
export class KeyList {
  private input = new ByteInput(new Uint8Array(INITIAL_BYTES));
  private starts = new Int32Array(INITIAL_KEYS);
  private lengths = new Int32Array(INITIAL_KEYS);
  private count = 0;
  private end = 0;

  clear(): void {
    this.count = 0;
    this.end = 0;
  }

  add(source: ByteInput, start: number, length: number): void {
    this.reserve(length);
    this.input.bytes.set(source.bytes.subarray(start, start + length), this.end);
    this.starts[this.count] = this.end;
    this.lengths[this.count++] = length;
    this.end += length;
  }

  /** Until `engine.unlock()`, no other thread changes or reads these keys. Only they may be opened. */
  lock(engine: Engine): void {
    engine.lockKeys(this.input, this.starts, this.lengths, 0, this.count, 1);
  }

  private reserve(length: number): void {
    const needed = this.end + length + ByteInput.SLACK_BYTES;
    if (needed > this.input.bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.input.bytes.subarray(0, this.end));
      this.input = new ByteInput(larger);
    }
    if (this.count < this.starts.length) return;
    this.starts = doubled(this.starts);
    this.lengths = doubled(this.lengths);
  }
}

function doubled(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
