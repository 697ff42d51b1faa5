import { type Allotment, nameOfAllotment } from '../allotments/allotment.js';
import { KeptKind, type KeptRecord, type KeptRecords } from '../ledger/kept-records.js';
import type { ChangeMark } from '../ledger/ledger.js';
import { MAXIMUM_LEASE_MS } from '../policies/policy.js';
import { Deadlines } from './deadlines.js';
import type { Operations } from './operations.js';
import type { Standing } from './take-request.js';

/** Held at once by one node. */
const MAXIMUM_LEASES = 100_000;
export const TOO_MANY_LEASES = `there are ${MAXIMUM_LEASES} leases already`;

export interface LeaseRequest {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly ttlMs: number;
  readonly waitMs: number | undefined;
  /** Where it has an id that its caller chose: the name of that. */
  readonly operation?: string | undefined;
}

export type Acquired =
  | { readonly error: string }
  | { readonly isAllowed: boolean; readonly id: string; readonly standing: Standing };

export type Renewed =
  | { readonly error: string }
  /** How long the lease holds from now on; as before where there were no tokens to renew it with. */
  | { readonly isRenewed: boolean; readonly ttlMs: number; readonly retryAfterMs: number };

interface Lease {
  readonly name: string;
  readonly subject: Uint8Array;
  /** One for every window in which it holds a token, in their order. */
  allotments: readonly Allotment[];
  untilMs: number;
  /** The end that its newest renewal asked for. It may be sooner, and holds when the renewal is answered. */
  askedMs: number;
  readonly operation: string | undefined;
  /** The name of its record on disk; undefined where there is none. */
  record: Uint8Array | undefined;
}

const ENDED = { error: 'the lease has ended before it could be renewed' } as const;

export interface LeasesOptions {
  readonly operations: Operations;
  readonly monotonicMs: () => number;
  /** A name that cannot be guessed. */
  readonly newId: () => string;
  /** Undefined where there is no disk. */
  readonly records?: KeptRecords | undefined;
}

/**
 * Limits on leases that are held at once. A lease holds one token in every window that any clock within the bound
 * reaches before it ends; each window has the whole limit, so at no moment more leases than the limit are held, in all
 * regions together. Renewing it takes the tokens of further windows.
 *
 * A lease is kept by the node that gave it, and on its disk where there is one: then it outlives the process, and its
 * tokens come back only when the disk holds its end. Without a disk a crash loses tokens of windows that end soon: no
 * token is given out twice, and the windows after them begin with the whole limit.
 */
export class Leases {
  private readonly options: LeasesOptions;
  private readonly held = new Map<string, Lease>();
  /** By the name of the id that the caller chose. */
  private readonly byOperation = new Map<string, string>();
  private readonly deadlines: Deadlines;

  constructor(options: LeasesOptions) {
    this.options = options;
    this.deadlines = new Deadlines(options.monotonicMs());
  }

  /** Takes up the leases of the process before this one. */
  restore(): void {
    for (const record of this.options.records?.own(KeptKind.lease) ?? []) this.restoreOne(record);
  }

  /** The lease that was given under an id that the caller chose, while it holds. */
  ofOperation(operation: string): string | undefined {
    return this.byOperation.get(operation);
  }

  acquire({ name, subject, ttlMs, waitMs, operation }: LeaseRequest, done: (acquired: Acquired) => void): void {
    if (this.isFull) {
      done({ error: TOO_MANY_LEASES });
      return;
    }
    this.options.operations.hold({ name, subject, holdMs: ttlMs, waitMs }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      const { isAllowed, standings, allotments } = answer;
      const id = isAllowed ? this.give({ name, subject, ttlMs, operation }, allotments) : '';
      done({ isAllowed, id, standing: standings[0] });
    });
  }

  get isFull(): boolean {
    return this.held.size >= MAXIMUM_LEASES;
  }

  /** A lease whose tokens were just taken, one of each allotment; returns its id. */
  give({ name, subject, ttlMs, operation }: Omit<LeaseRequest, 'waitMs'>, allotments: readonly Allotment[]): string {
    const id = this.options.newId();
    const record = this.options.records && writeBody(id, name, subject, allotments[0].policy, operation);
    this.keep(id, { name, subject, allotments, untilMs: 0, askedMs: 0, operation, record }, ttlMs);
    return id;
  }

  /**
   * Makes it end `ttlMs` from now. Where one of the windows until then has no token left, it ends when it would have.
   * It is answered when the disk holds it: after a crash that forgot it, the tokens would go to others too soon. Until
   * then the caller counts on the end before, so it does not end sooner.
   */
  renew(id: string, ttlMs: number, waitMs: number | undefined, done: (renewed: Renewed) => void): void {
    const lease = this.held.get(id);
    if (lease === undefined) {
      done({ error: 'there is no such lease: it has ended, or was given before a restart' });
      return;
    }
    const { operations } = this.options;
    const { name, subject, allotments } = lease;
    const { policy, window } = allotments[allotments.length - 1];
    operations.hold({ name, subject, holdMs: ttlMs, held: { policy, upTo: window }, waitMs }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      if (this.held.get(id) !== lease) {
        if (answer.isAllowed) this.giveBack(answer.allotments);
        done(ENDED);
        return;
      }
      if (!answer.isAllowed) {
        done({ isRenewed: false, ttlMs: this.leftMs(lease), retryAfterMs: answer.standings[0].retryAfterMs });
        return;
      }
      this.extend(lease, answer.allotments);
      const mark = this.keep(id, lease, ttlMs);
      const { askedMs } = lease;
      // It may have been released while the disk was written: its token may be another's by now.
      operations.whenDurable(mark, () => {
        const isHeld = this.held.get(id) === lease;
        if (isHeld && lease.askedMs === askedMs) this.endAt(id, lease, askedMs);
        done(isHeld ? { isRenewed: true, ttlMs: this.leftMs(lease), retryAfterMs: 0 } : ENDED);
      });
    });
  }

  /** False where there is no such lease any more. */
  release(id: string): boolean {
    const lease = this.held.get(id);
    if (lease === undefined) return false;
    const { record, operation, allotments } = lease;
    const { records, operations } = this.options;
    this.held.delete(id);
    this.deadlines.delete(id);
    if (operation !== undefined) this.byOperation.delete(operation);
    const mark = record && records?.remove(KeptKind.lease, record);
    for (const allotment of allotments) operations.giveBack(allotment, 1, mark);
    return true;
  }

  has(id: string): boolean {
    return this.held.has(id);
  }

  /** Ends leases that were not renewed in time. */
  tick(): void {
    this.deadlines.pass(this.options.monotonicMs(), (id) => this.release(id));
  }

  /** How many leases hold a token, by allotment. */
  outstanding(): Map<string, number> {
    const amounts = new Map<string, number>();
    for (const { allotments } of this.held.values())
      for (const allotment of allotments)
        amounts.set(nameOfAllotment(allotment), (amounts.get(nameOfAllotment(allotment)) ?? 0) + 1);
    return amounts;
  }

  private keep(id: string, lease: Lease, ttlMs: number): ChangeMark | undefined {
    const isNew = !this.held.has(id);
    this.put(id, lease, ttlMs);
    const { records, operations } = this.options;
    if (lease.record === undefined || records === undefined) return undefined;
    const last = lease.allotments[lease.allotments.length - 1];
    // A renewal may make it end sooner; the disk keeps the later end, which matters after a crash alone.
    const progress = { added: operations.nowMs + ttlMs, taken: 1 + last.window };
    const mark = records.set(KeptKind.lease, lease.record, progress, operations.overMs(last));
    if (mark === undefined && isNew) lease.record = undefined;
    return mark;
  }

  private put(id: string, lease: Lease, ttlMs: number): void {
    lease.askedMs = this.options.monotonicMs() + ttlMs;
    this.held.set(id, lease);
    if (lease.operation !== undefined) this.byOperation.set(lease.operation, id);
    this.endAt(id, lease, Math.max(lease.untilMs, lease.askedMs));
  }

  private endAt(id: string, lease: Lease, untilMs: number): void {
    lease.untilMs = untilMs;
    this.deadlines.set(id, untilMs);
  }

  private restoreOne({ body, added: endsMs, taken }: KeptRecord): void {
    const { operations, records } = this.options;
    const [id, name, text, policy, operation] = JSON.parse(Buffer.from(body).toString());
    const subject = Uint8Array.from(Buffer.from(text, 'base64'));
    const allotments = operations.allotmentsUpTo(policy, subject, taken - 1);
    const lease: Lease = {
      name,
      subject,
      allotments,
      untilMs: 0,
      askedMs: 0,
      operation: operation ?? undefined,
      record: body,
    };
    if (allotments.length === 0) records?.remove(KeptKind.lease, body);
    else this.put(id, lease, Math.min(MAXIMUM_LEASE_MS, Math.max(0, endsMs - operations.nowMs)));
  }

  /** Another renewal of the same lease may have been faster: tokens that are held twice go back. */
  private extend(lease: Lease, allotments: readonly Allotment[]): void {
    const last = lease.allotments[lease.allotments.length - 1].window;
    this.giveBack(allotments.filter(({ window }) => window <= last));
    // Tokens of windows that are over are worthless.
    lease.allotments = [...lease.allotments, ...allotments.filter(({ window }) => window > last)].filter(
      ({ policy, window }) => !this.options.operations.isOver(policy, window),
    );
  }

  /** Of tokens that no record on disk has. */
  private giveBack(allotments: readonly Allotment[]): void {
    for (const allotment of allotments) this.options.operations.giveBack(allotment, 1, undefined);
  }

  private leftMs({ untilMs }: Lease): number {
    return Math.max(0, Math.ceil(untilMs - this.options.monotonicMs()));
  }
}

/** What never changes about a lease. */
function writeBody(
  id: string,
  name: string,
  subject: Uint8Array,
  policy: number,
  operation: string | undefined,
): Uint8Array {
  return Buffer.from(JSON.stringify([id, name, Buffer.from(subject).toString('base64'), policy, operation]));
}
