import { ByteInput } from '@quotadb/engine';
import { running, type Value } from '@quotadb/lua';
import type { Request } from '@quotadb/wire';
import { numberText } from './number-text.js';
import { RequestWord } from './request-words.js';

/**
 * The arguments of a redis.call as a request: written into one buffer that is used again for the next call. Words of
 * KEYS and ARGV stay in it until the script ends.
 */
export class ScriptRequest implements Request {
  private static readonly KEPT_BYTES = 64 * 1024;
  private static readonly KEPT_ARGUMENTS = 1024;

  input = new ByteInput(new Uint8Array(ScriptRequest.KEPT_BYTES + ByteInput.SLACK_BYTES));
  argumentCount = 0;
  argumentStart = new Int32Array(ScriptRequest.KEPT_ARGUMENTS);
  argumentLength = new Int32Array(ScriptRequest.KEPT_ARGUMENTS);
  /** The bytes in front of this one stay. */
  private keptTo = 0;

  /**
   * The arguments from `first` on; those before are left empty. False where one is neither a string nor a number.
   */
  fill(values: readonly (Value | RequestWord)[], first: number): boolean {
    const count = values.length;
    if (count > this.argumentStart.length) this.growArguments(count);
    let position = this.keptTo;
    for (let index = 0; index < count; index++) {
      const value = values[index];
      let text: string;
      if (index < first) text = '';
      else if (typeof value === 'string') text = value;
      else if (value instanceof RequestWord) {
        position = this.refer(index, value, position);
        continue;
      } else if (typeof value === 'number') text = numberText(value);
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

  /** The argument is this word, which is copied where no command had it before. Returns the next free position. */
  private refer(index: number, word: RequestWord, position: number): number {
    const { length } = word;
    this.argumentLength[index] = length;
    if (word.at !== RequestWord.NOWHERE) {
      this.argumentStart[index] = word.at;
      return position;
    }
    if (position + length + ByteInput.SLACK_BYTES > this.input.bytes.length) this.growBytes(position, length);
    this.argumentStart[index] = position;
    copyBytes(word, this.input, position);
    word.at = position;
    this.keptTo = position + length;
    return this.keptTo;
  }

  /** The script is over. Gives back what one large call took. */
  end(): void {
    this.keptTo = 0;
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
    const size = (used + more) * 2 + ByteInput.SLACK_BYTES;
    // A script may pass the same long string many times.
    running.spend(size);
    const grown = new Uint8Array(size);
    grown.set(this.input.bytes.subarray(0, used));
    this.input = new ByteInput(grown);
  }
}

/** Up to here a loop is quicker than a call out of JavaScript. */
const LOOP_COPY_CHARACTERS = 64;

/** Up to three bytes more than the word has: both buffers have them, and no command reads them. */
function copyBytes({ input, start, length }: RequestWord, target: ByteInput, to: number): void {
  if (length > LOOP_COPY_CHARACTERS) target.bytes.set(input.bytes.subarray(start, start + length), to);
  else for (let at = 0; at < length; at += 4) target.view.setInt32(to + at, input.view.getInt32(start + at));
}

function copyLatin1(text: string, target: Uint8Array, start: number): void {
  const { length } = text;
  if (length > LOOP_COPY_CHARACTERS) {
    Buffer.from(target.buffer, target.byteOffset + start, length).write(text, 'latin1');
    return;
  }
  for (let index = 0; index < length; index++) target[start + index] = text.charCodeAt(index);
}
