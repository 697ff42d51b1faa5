import { randomUUID } from 'node:crypto';
import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import {
  type MapLock,
  type MapStore,
  type MemberStatement,
  type StoredMap,
  statementSchema,
} from '../store/map-store.js';
import { type Etcd, EtcdClient, type Fence } from './etcd-client.js';
import type { GatewayOptions } from './gateway.js';
import { type Clocks, type Lease, machineClocks } from './lease.js';
import { LeaseKeeper } from './lease-keeper.js';
import { MapWatch, storedMap } from './map-watch.js';

export interface EtcdMapStoreOptions extends GatewayOptions {
  /** Of all keys, without a slash at the end. */
  readonly prefix: string;
  /** How long etcd waits for a member that says nothing. */
  readonly leaseSeconds: number;
  /** With the reason while watching or keeping the lease fails; without one when all is well again. Not twice. */
  readonly troubled?: (reason: string | undefined) => void;
  /** The mistakes of a map that a watch has found; none when it has found one without. */
  readonly refused?: (mistakes: readonly string[]) => void;
  readonly clocks?: Clocks;
  /** Stands for the gateway, in simulations. */
  readonly client?: Etcd;
  /** How often a watch is held against what etcd has. */
  readonly checkMs?: number;
}

/** Where etcd does not answer, the lease ends after its time. */
const STOP_MS = 1000;
const MEMBER_ID = /^[0-9a-f]{40}$/;

/**
 * The map in etcd:
 *
 *   PREFIX/map             the document, as JSON
 *   PREFIX/members/ID      the statement of a member, under its lease
 *   PREFIX/locks/NAME      who holds the lock, under the holder's lease
 */
export class EtcdMapStore implements MapStore {
  private readonly options: EtcdMapStoreOptions;
  private readonly client: Etcd;
  private readonly clocks: Clocks;
  private readonly keeper: LeaseKeeper;
  private readonly id = randomUUID();
  private readonly watches = new Set<MapWatch>();
  private readonly troubles = { map: undefined as string | undefined, lease: undefined as string | undefined };
  private reported: string | undefined = undefined;

  constructor(options: EtcdMapStoreOptions) {
    this.options = options;
    this.client = options.client ?? new EtcdClient(options);
    this.clocks = options.clocks ?? machineClocks;
    this.keeper = new LeaseKeeper({
      client: this.client,
      seconds: options.leaseSeconds,
      clocks: this.clocks,
      troubled: (reason) => this.report('lease', reason),
    });
  }

  async read(): Promise<StoredMap | undefined> {
    const { found } = await this.client.get(this.mapKey);
    return found && storedMap(found);
  }

  async replace(before: StoredMap | undefined, document: MapDocument, lock?: MapLock): Promise<boolean> {
    mapOf(document);
    if (before !== undefined && document.revision <= before.document.revision)
      throw new Error(`a map of revision ${document.revision} cannot follow one of ${before.document.revision}`);
    if (lock !== undefined && !lock.isHeld) return false;
    const fences: Fence[] = [{ key: this.mapKey, field: 'mod_revision', revision: before?.version ?? 0 }];
    if (lock !== undefined) fences.push((lock as EtcdLock).fence);
    const text = JSON.stringify(document);
    const { isDone, found, mayHaveRunBefore } = await this.client.change(fences, this.mapKey, text);
    // The attempt without an answer was carried out, and the next one found its own work.
    return isDone || (mayHaveRunBefore && found?.value.toString() === text);
  }

  watch(changed: (map: StoredMap) => void): () => void {
    const { client, clocks, mapKey: key } = this;
    const { refused = () => undefined, checkMs } = this.options;
    const watch = new MapWatch({
      client,
      clocks,
      key,
      changed: (map) => {
        refused([]);
        changed(map);
      },
      refused,
      troubled: (reason) => this.report('map', reason),
      ...(checkMs !== undefined && { checkMs }),
    });
    this.watches.add(watch);
    return () => {
      this.watches.delete(watch);
      watch.stop();
    };
  }

  announce(member: string, statement: MemberStatement): Promise<void> {
    return this.keeper.put(`${this.membersPrefix}${member}`, JSON.stringify(statement));
  }

  async members(): Promise<ReadonlyMap<string, MemberStatement>> {
    const statements = new Map<string, MemberStatement>();
    for (const { key, value } of await this.client.list(this.membersPrefix)) {
      const member = key.toString().slice(this.membersPrefix.length);
      const statement = readStatement(value.toString());
      if (MEMBER_ID.test(member) && statement !== undefined) statements.set(member, statement);
    }
    return statements;
  }

  async lock(name: string): Promise<MapLock | undefined> {
    const key = `${this.options.prefix}/locks/${name}`;
    const lease = await this.keeper.current();
    const holder = `${this.id} ${lease.id}`;
    const isFree: Fence = { key, field: 'create_revision', revision: 0 };
    const { isDone, revision, found } = await this.client.change([isFree], key, holder, lease.id);
    if (isDone) return new EtcdLock(this.client, key, revision, lease);
    // An attempt without an answer was carried out, now or in an earlier call.
    if (found?.value.toString() === holder) return new EtcdLock(this.client, key, found.create_revision, lease);
    return undefined;
  }

  async stop(): Promise<void> {
    for (const watch of this.watches) watch.stop();
    this.watches.clear();
    const patience = new Promise<void>((resolve) => this.clocks.after(STOP_MS, resolve));
    await Promise.race([this.keeper.stop(), patience]);
    this.client.close();
  }

  private get mapKey(): string {
    return `${this.options.prefix}/map`;
  }

  private get membersPrefix(): string {
    return `${this.options.prefix}/members/`;
  }

  private report(part: 'map' | 'lease', reason: string | undefined): void {
    this.troubles[part] = reason;
    const trouble = this.troubles.map ?? this.troubles.lease;
    if (trouble === this.reported) return;
    this.reported = trouble;
    this.options.troubled?.(trouble);
  }
}

class EtcdLock implements MapLock {
  private readonly client: Etcd;
  private readonly key: string;
  private readonly createRevision: number;
  private readonly lease: Lease;
  private isReleased = false;

  constructor(client: Etcd, key: string, createRevision: number, lease: Lease) {
    this.client = client;
    this.key = key;
    this.createRevision = createRevision;
    this.lease = lease;
  }

  get isHeld(): boolean {
    return !this.isReleased && this.lease.isAlive;
  }

  /** It is still this lock, and no other member has had it in between. */
  get fence(): Fence {
    return { key: this.key, field: 'create_revision', revision: this.createRevision };
  }

  async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    await this.client.change([this.fence], this.key, undefined);
  }
}

/** Undefined where something else was put there. */
function readStatement(text: string): MemberStatement | undefined {
  try {
    const checked = statementSchema.safeParse(JSON.parse(text));
    return checked.success ? checked.data : undefined;
  } catch {
    return undefined;
  }
}
