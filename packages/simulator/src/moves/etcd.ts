import {
  Code,
  EtcdRefused,
  type Fence,
  type KeptLease,
  type KeyValue,
  type TransactionResult,
} from '@quotadb/cluster/etcd';
import type { Scheduler } from '../world/scheduler.js';

export interface EtcdFaults {
  /** Of the attempts of a call: refused, lost, done without an answer, or done after the caller has given up. */
  failure: number;
  /** How long events of watches take at most. */
  lagMs: number;
  /** Leases live longer than they were granted for: by a new leader of etcd. */
  leasesLateMs: number;
}

interface Entry {
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly lease: string | undefined;
}

interface Stream {
  readonly key: string;
  readonly reported: (found: KeyValue) => void;
  readonly broken: () => void;
}

/** What an etcd keeps, in memory: keys with revisions, leases, watches. Every change is one step. */
export class SimulatedEtcd {
  readonly faults: EtcdFaults = { failure: 0, lagMs: 2, leasesLateMs: 0 };
  private readonly scheduler: Scheduler;
  private readonly put: (key: string, value: string) => void;
  private revision = 1;
  private readonly entries = new Map<string, Entry>();
  private readonly leases = new Map<string, { readonly seconds: number; endsAtMs: number }>();
  private readonly streams = new Set<Stream>();
  /** Puts since the last compaction. */
  private history: KeyValue[] = [];
  private compactedAt = 0;
  private leasesTotal = 0;

  constructor(scheduler: Scheduler, put: (key: string, value: string) => void) {
    this.scheduler = scheduler;
    this.put = put;
  }

  get(key: string): { readonly revision: number; readonly found: KeyValue | undefined } {
    this.expire();
    return { revision: this.revision, found: this.find(key) };
  }

  list(prefix: string): KeyValue[] {
    this.expire();
    return [...this.entries.keys()].filter((key) => key.startsWith(prefix)).map((key) => this.find(key) as KeyValue);
  }

  set(key: string, value: string, lease?: string): void {
    this.expire();
    if (lease !== undefined && !this.leases.has(lease)) throw new EtcdRefused('the lease is not there', Code.notFound);
    const createRevision = this.entries.get(key)?.createRevision ?? this.revision + 1;
    this.revision++;
    this.entries.set(key, { value, createRevision, modRevision: this.revision, lease });
    this.put(key, value);
    const found = this.find(key) as KeyValue;
    this.history.push(found);
    for (const stream of [...this.streams]) if (stream.key === key) stream.reported(found);
  }

  change(
    fences: readonly Fence[],
    key: string,
    value: string | undefined,
    lease?: string,
  ): Omit<TransactionResult, 'mayHaveRunBefore'> {
    this.expire();
    const isDone = fences.every((fence) => this.holds(fence));
    if (isDone && value !== undefined) this.set(key, value, lease);
    else if (isDone && this.entries.delete(key)) this.revision++;
    return { isDone, revision: this.revision, found: isDone ? undefined : this.find(key) };
  }

  grantLease(seconds: number): { readonly id: string; readonly seconds: number } {
    const id = String(++this.leasesTotal);
    this.leases.set(id, { seconds, endsAtMs: this.scheduler.nowMs + seconds * 1000 });
    return { id, seconds };
  }

  /** For 0 seconds where it is gone. */
  keepLease(id: string): KeptLease {
    this.expire();
    const { revision } = this;
    const lease = this.leases.get(id);
    if (lease === undefined) return { seconds: 0, revision };
    lease.endsAtMs = this.scheduler.nowMs + lease.seconds * 1000;
    return { seconds: lease.seconds, revision };
  }

  /** Its keys are gone with it. */
  revokeLease(id: string): void {
    this.leases.delete(id);
    for (const [key, { lease }] of [...this.entries])
      if (lease === id) {
        this.entries.delete(key);
        this.revision++;
      }
  }

  /** As `etcdctl lease revoke`, or a clock that runs too fast: holders do not know of it. */
  endAllLeases(): void {
    for (const id of [...this.leases.keys()]) this.revokeLease(id);
  }

  watch(fromRevision: number, stream: Stream): () => void {
    if (fromRevision <= this.compactedAt) stream.broken();
    else {
      this.streams.add(stream);
      for (const found of this.history)
        if (found.mod_revision >= fromRevision && found.key.toString() === stream.key) stream.reported(found);
    }
    return () => this.streams.delete(stream);
  }

  breakWatches(): void {
    for (const stream of [...this.streams]) stream.broken();
    this.streams.clear();
  }

  compact(): void {
    this.compactedAt = this.revision;
    this.history = [];
  }

  private expire(): void {
    const { nowMs } = this.scheduler;
    for (const [id, { endsAtMs }] of [...this.leases])
      if (endsAtMs + this.faults.leasesLateMs <= nowMs) this.revokeLease(id);
  }

  private holds({ key, field, revision }: Fence): boolean {
    const entry = this.entries.get(key);
    return (field === 'mod_revision' ? entry?.modRevision : entry?.createRevision) === (revision || undefined);
  }

  private find(key: string): KeyValue | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    const { value, createRevision, modRevision } = entry;
    return {
      key: Buffer.from(key),
      value: Buffer.from(value),
      create_revision: createRevision,
      mod_revision: modRevision,
    };
  }
}
