import type { Refusal } from '../deciding/refusal.js';

/** Who calls, as far as the door has to know. */
export interface Caller {
  /** Whether the caller may count requests in a domain. */
  mayCount(domain: string): boolean;
}

export interface Call {
  readonly caller: Caller;
  /** How long the client waits for the answer, where it said so. */
  readonly timeoutMs: number | undefined;
}

/** One message, one reply. */
export interface UnaryMethod {
  readonly kind: 'unary';
  /** Whether it is served to callers without credentials. */
  readonly isOpen: boolean;
  /** Calls back once. A Refusal may be thrown too. */
  answer(message: Buffer, call: Call, done: (reply: Buffer | Refusal) => void): void;
}

/** Messages and replies in any order, for as long as the client likes. */
export interface LastingMethod {
  readonly kind: 'lasting';
  readonly isOpen: boolean;
  open(replies: Replies, call: Call): Conversation;
}

export interface Replies {
  send(reply: Buffer): void;
  /** Ends the call: with a status that is not OK where there is a reason. */
  end(reason?: Refusal): void;
}

/** The client's side of a lasting call. */
export interface Conversation {
  /** May throw a Refusal, which ends the call. */
  message(bytes: Buffer): void;
  /** The client sends no more. */
  ended(): void;
  /** The call is over, for any reason. */
  closed(): void;
}

export type Method = UnaryMethod | LastingMethod;

/** By path: `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>;
