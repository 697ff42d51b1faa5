import { ReplyError } from '../contract/errors.js';
import type { Encoded } from '../resp/encode.js';
import type { Reply } from '../resp/values.js';
import { refuse } from './refusal.js';

/** A command that waits for its reply. */
export interface Pending {
  /** Empty for the AUTH and greetings that the connection sends itself: no caller waits for them. */
  readonly encoded: Encoded;
  /** On the clock of performance.now. */
  readonly deadlineMs: number;
  /** The caller has its answer (a timeout, an abort): the reply, when it comes, is dropped. */
  isSettled: boolean;
  /** Stops listening to the caller's signal. */
  unwatch?: () => void;
  resolve(reply: Reply | Promise<never>): void;
  reject(error: Error): void;
}

export function settle(pending: Pending, outcome: Reply | Error): void {
  if (pending.isSettled) return;
  pending.isSettled = true;
  pending.unwatch?.();
  if (outcome instanceof ReplyError && pending.encoded !== '')
    pending.resolve(refuse(outcome.message, pending.encoded));
  else if (outcome instanceof Error) pending.reject(outcome);
  else pending.resolve(outcome);
}

/** Settles the command when the caller gives up. */
export function watchSignal(pending: Pending, signal: AbortSignal): void {
  const abort = () =>
    settle(pending, signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  signal.addEventListener('abort', abort, { once: true });
  pending.unwatch = () => signal.removeEventListener('abort', abort);
}

/** A queue in an array with a head, so that taking the first command moves no others. */
export class PendingQueue {
  #items: (Pending | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): Pending | undefined {
    return this.#items[this.#head];
  }

  push(pending: Pending): void {
    this.#items.push(pending);
  }

  shift(): Pending | undefined {
    const pending = this.#items[this.#head];
    if (pending === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return pending;
  }

  takeAll(): Pending[] {
    const all = this.#items.slice(this.#head) as Pending[];
    this.#items = [];
    this.#head = 0;
    return all;
  }

  *[Symbol.iterator](): Generator<Pending> {
    for (let index = this.#head; index < this.#items.length; index++) yield this.#items[index]!;
  }
}
