import type { Request } from '@quotadb/wire';
import { bytesArgument } from '../request/arguments.js';

export interface SlowCommand {
  readonly id: number;
  readonly atSeconds: number;
  readonly microseconds: number;
  readonly words: readonly Uint8Array[];
  readonly address: string;
  readonly clientName: string;
}

/** Slow commands, newest first. The arguments kept of each are bounded as in Redis. */
export class Slowlog {
  static readonly MAXIMUM_WORDS = 32;
  static readonly MAXIMUM_WORD_BYTES = 128;

  /** Slow commands since the start, also those no longer kept. */
  total = 0;
  private entries: SlowCommand[] = [];
  private readonly nextId: () => number;

  constructor(nextId: () => number) {
    this.nextId = nextId;
  }

  get length(): number {
    return this.entries.length;
  }

  newest(count: number): readonly SlowCommand[] {
    return this.entries.slice(0, count);
  }

  add(entry: Omit<SlowCommand, 'id'>, maximumLength: number): void {
    this.total++;
    this.entries.unshift({ id: this.nextId(), ...entry });
    this.entries.length = Math.min(this.entries.length, maximumLength);
  }

  reset(): void {
    this.entries = [];
  }

  /** Copies of the arguments, cut where they are long, and without those from `secretsFrom` on. */
  static words(request: Request, secretsFrom: number): Uint8Array[] {
    const count = request.argumentCount;
    const kept = Math.min(count, Slowlog.MAXIMUM_WORDS);
    const words: Uint8Array[] = [];
    for (let index = 0; index < kept; index++) {
      if (index === kept - 1 && count > kept) {
        words.push(Buffer.from(`... (${count - kept + 1} more arguments)`));
      } else if (index >= secretsFrom) {
        words.push(REDACTED);
      } else {
        words.push(shortened(bytesArgument(request, index)));
      }
    }
    return words;
  }
}

/** In the place of a secret, as in Redis. */
const REDACTED = Buffer.from('(redacted)');

function shortened(word: Uint8Array): Uint8Array {
  const over = word.length - Slowlog.MAXIMUM_WORD_BYTES;
  if (over <= 0) return word.slice();
  return Buffer.concat([word.subarray(0, Slowlog.MAXIMUM_WORD_BYTES), Buffer.from(`... (${over} more bytes)`)]);
}
