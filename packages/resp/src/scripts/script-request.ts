import { ByteInput } from '@quotadb/engine';
import type { Value } from '@quotadb/lua';
import type { Request } from '@quotadb/wire';
import { numberText } from './number-text.js';

/** The arguments of a redis.call as a request: written into one buffer that is used again for the next call. */
export class ScriptRequest implements Request {
  private static readonly KEPT_BYTES = 64 * 1024;
  private static readonly KEPT_ARGUMENTS = 1024;

  input = new ByteInput(new Uint8Array(ScriptRequest.KEPT_BYTES + ByteInput.SLACK_BYTES));
  argumentCount = 0;
  argumentStart = new Int32Array(ScriptRequest.KEPT_ARGUMENTS);
  argumentLength = new Int32Array(ScriptRequest.KEPT_ARGUMENTS);

  /** False where an argument is neither a string nor a number. */
  fill(values: readonly Value[]): boolean {
    const count = values.length;
    if (count > this.argumentStart.length) this.growArguments(count);
    let position = 0;
    for (let index = 0; index < count; index++) {
      const value = values[index];
      let text: string;
      if (typeof value === 'string') text = value;
      else if (typeof value === 'number') text = numberText(value);
      else return false;
      const { length } = text;
      if (position + length + ByteInput.SLACK_BYTES > this.input.bytes.length) this.growBytes(position, length);
      this.argumentStart[index] = position;
      this.argumentLength[index] = length;
      copyLatin1(text, this.input.bytes, position);
      position += length;
    }
    this.argumentCount = count;
    return true;
  }

  /** Gives back what one large call took. */
  shrink(): void {
    if (this.input.bytes.length > ScriptRequest.KEPT_BYTES + ByteInput.SLACK_BYTES) {
      this.input = new ByteInput(new Uint8Array(ScriptRequest.KEPT_BYTES + ByteInput.SLACK_BYTES));
    }
    if (this.argumentStart.length > ScriptRequest.KEPT_ARGUMENTS) this.growArguments(ScriptRequest.KEPT_ARGUMENTS);
  }

  private growArguments(count: number): void {
    this.argumentStart = new Int32Array(count);
    this.argumentLength = new Int32Array(count);
  }

  private growBytes(used: number, more: number): void {
    const grown = new Uint8Array((used + more) * 2 + ByteInput.SLACK_BYTES);
    grown.set(this.input.bytes.subarray(0, used));
    this.input = new ByteInput(grown);
  }
}

const LOOP_COPY_CHARACTERS = 64;

function copyLatin1(text: string, target: Uint8Array, start: number): void {
  const { length } = text;
  if (length > LOOP_COPY_CHARACTERS) {
    Buffer.from(target.buffer, target.byteOffset + start, length).write(text, 'latin1');
    return;
  }
  for (let index = 0; index < length; index++) target[start + index] = text.charCodeAt(index);
}
