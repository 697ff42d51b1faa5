import {
  type ClusterMap,
  HERE,
  inRanges,
  type MapDocument,
  type Marks,
  type Member,
  Mover,
  mapOf,
  nodeIdOf,
  Receiver,
  SLOT_COUNT,
  type StoredMap,
  slotOfKey,
  slotStates,
  UNOWNED,
} from '@quotadb/cluster';
import { EtcdMapStore } from '@quotadb/cluster/etcd';
import type { Link } from '@quotadb/replication';
import { countEntries, MovingAllotments, SlotKeys } from '@quotadb/server/moving';
import type { QuotaFrame } from '@quotadb/wire';
import { QuotaService, type QuotaServiceOptions } from '../quotas/quota-service.js';
import type { NodeProcess, ProcessService } from '../world/process.js';
import type { SimulatedEtcd } from './etcd.js';
import { SimulatedEtcdClient } from './etcd-client.js';
import { ProcessTime } from './process-time.js';

export const PREFIX = '/quotadb';

/** What a member needs of the simulation that it is in. */
export interface MoveWorld {
  readonly etcd: SimulatedEtcd;
  readonly pace: { readonly batchSlots: number; readonly leaseSeconds: number; readonly attemptMs: number };
  /** The map that a node had last in force, on its disk. */
  readonly keptOf: (process: NodeProcess) => MapDocument | undefined;
  /** False where the disk fails. */
  readonly keep: (process: NodeProcess, document: MapDocument) => boolean;
  readonly call: <Answer>(
    from: NodeProcess,
    to: Member,
    patienceMs: number,
    work: (member: MoveMember) => Promise<Answer> | Answer,
    isQuick?: boolean,
  ) => Promise<Answer>;
  /** A process has put a map into force. */
  readonly applied: () => void;
  /** A process asks etcd or another member. */
  readonly asking: (process: NodeProcess) => void;
  readonly quotaOptionsOf: (process: NodeProcess) => QuotaServiceOptions;
}

/** As in a server. */
const CALL_PATIENCE_MS = 1500;
const PREPARE_PATIENCE_MS = 15_000;
const AGAIN_MS = 1000;
const UNSETTLED_MS = 5;
/** Small, so that other work comes in between. */
const BATCH_KEYS = 6;
const SLICE_KEYS = 2;
const LONGEST_TURN_MS = 20;

/** One process of a group that owns slots: put together from the same parts as in a server, on a simulated etcd. */
export class MoveMember implements ProcessService {
  readonly process: NodeProcess;
  readonly own: Member;
  readonly quotas: QuotaService;
  readonly client: SimulatedEtcdClient;
  readonly keys: SlotKeys;
  readonly receiver: Receiver;
  readonly mover: Mover;
  /** Of every slot, what this process does with commands on it. */
  states: Uint8Array = new Uint8Array(SLOT_COUNT).fill(UNOWNED);
  map: ClusterMap | undefined = undefined;
  private readonly world: MoveWorld;
  private readonly time: ProcessTime;
  private readonly store: EtcdMapStore;
  private readonly allotments: MovingAllotments;
  /** Commands that have begun, by slot. */
  private readonly running = new Map<number, number>();
  private newest: StoredMap | undefined = undefined;
  private work: Promise<void> = Promise.resolve();

  constructor(process: NodeProcess, world: MoveWorld, own: Member) {
    const { node, engine, clock } = process;
    const { scheduler, random } = node.cluster;
    const { etcd, pace } = world;
    this.process = process;
    this.world = world;
    this.own = own;
    const time = new ProcessTime(process);
    this.time = time;
    const asking = () => world.asking(process);
    this.client = new SimulatedEtcdClient({ etcd, scheduler, random, time, asking, attemptMs: pace.attemptMs });
    this.store = new EtcdMapStore({
      ...{ urls: [], prefix: PREFIX, leaseSeconds: pace.leaseSeconds, clocks: time, client: this.client },
    });
    const quotas = new QuotaService(world.quotaOptionsOf(process));
    this.quotas = quotas;
    const answers = { openReservations: () => quotas.reservations.outstanding(), leases: quotas.leases };
    this.allotments = new MovingAllotments({
      ...{ broker: quotas.broker, book: quotas.book },
      answers: answers as unknown as ConstructorParameters<typeof MovingAllotments>[0]['answers'],
    });
    const turn = () => time.sleep(random.next() * LONGEST_TURN_MS);
    const keysPace = { batchKeys: BATCH_KEYS, batchSlots: pace.batchSlots, sliceKeys: SLICE_KEYS, turn };
    this.keys = new SlotKeys(engine, this.allotments, () => clock.now(), keysPace);
    this.receiver = this.makeReceiver();
    this.mover = this.makeMover();
  }

  // ---- the map ------------------------------------------------------------------------------------------------------

  /** Until there is a map: that of etcd; while it is away, that which was last in force here. */
  async start(): Promise<void> {
    while (this.map === undefined) {
      const kept = this.world.keptOf(this.process);
      const found = await this.store.read().catch(() => undefined);
      const document = (found?.document.revision ?? 0) >= (kept?.revision ?? 0) ? found?.document : kept;
      if (document === undefined) await this.time.sleep(AGAIN_MS);
      else await this.apply(document);
    }
    this.store.watch((map) => this.receive(map));
    await this.mover.run();
  }

  /** What a process of this group does with the slots of a map. */
  statesOf(map: ClusterMap): Uint8Array {
    return slotStates(map, this.own.group);
  }

  private receive(map: StoredMap): void {
    this.newest = map;
    this.work = this.work.then(async () => {
      const { newest } = this;
      this.newest = undefined;
      if (newest !== undefined) await this.apply(newest.document);
    });
  }

  private async apply(document: MapDocument): Promise<void> {
    const { revision } = document;
    if (revision <= (this.map?.revision ?? 0)) return;
    const map = mapOf(document);
    this.map = map;
    this.states = this.statesOf(map);
    this.world.applied();
    this.process.node.cluster.said(`${this.process.label} has the map of revision ${revision}`);
    // What it states it must know after a restart too.
    while (!this.world.keep(this.process, document)) {
      if (this.newest !== undefined) return;
      await this.time.sleep(AGAIN_MS);
    }
    if (!(await this.settle(map))) return;
    await this.store.announce(nodeIdOf(this.own), { revision }).catch(() => undefined);
  }

  /** Whether no command is left that began under another map, on slots that are held in this one. */
  async settle(map: ClusterMap): Promise<boolean> {
    while ([...this.running.keys()].some((slot) => this.states[slot] !== HERE)) {
      if (this.newest !== undefined) return false;
      await this.time.sleep(UNSETTLED_MS);
    }
    const held = map.moves.flatMap((move) => (move.from === this.own.group ? move.held : []));
    const isHeld = inRanges(held);
    this.process.advance();
    this.allotments.returnUnspent((subject) => isHeld(slotOfKey(subject, 0, subject.length)));
    this.mover.notice();
    return true;
  }

  // ---- commands -----------------------------------------------------------------------------------------------------

  /** False where the slot is not served here. Otherwise the command runs until it ends. */
  begin(slot: number): boolean {
    if (this.states[slot] !== HERE) return false;
    this.running.set(slot, (this.running.get(slot) ?? 0) + 1);
    return true;
  }

  end(slot: number): void {
    const left = (this.running.get(slot) ?? 1) - 1;
    if (left === 0) this.running.delete(slot);
    else this.running.set(slot, left);
  }

  after(delayMs: number, run: () => void): void {
    this.time.after(delayMs, run);
  }

  /** It is the member of its group that moves slots. */
  get isMoving(): boolean {
    return Reflect.get(this.mover, 'lock') !== undefined;
  }

  // ---- moves --------------------------------------------------------------------------------------------------------

  /** What this process held when it was asked, once its disk has it. */
  async durableMarks(): Promise<Marks> {
    const marks = this.marks();
    await this.process.disk?.flush();
    return marks;
  }

  private marks(): Marks {
    return this.keys.marks(this.map?.revision ?? 0);
  }

  private marksOf(member: Member): Promise<Marks> {
    if (nodeIdOf(member) === nodeIdOf(this.own)) return this.durableMarks();
    return this.world.call(this.process, member, CALL_PATIENCE_MS, (other) => other.durableMarks(), true);
  }

  private makeReceiver(): Receiver {
    const { keys, process, time, own } = this;
    return new Receiver({
      ...{ own, clock: time, map: () => this.map, marksOf: (member) => this.marksOf(member) },
      sink: {
        empty: (slots, mayGoOn) => keys.drop(slots, mayGoOn),
        count: (entries, isMeant, members) => {
          process.advance();
          try {
            countEntries(process.engine, this.allotments, entries, isMeant, members);
          } catch (error) {
            process.engine.releaseLocks();
            throw error;
          }
        },
        covers: (marks) => keys.covers(marks),
        marks: () => this.marks(),
      },
    });
  }

  private makeMover(): Mover {
    const { process, time, own, store, keys, world } = this;
    const call = <Answer>(to: Member, work: (member: MoveMember) => Promise<Answer> | Answer, patienceMs: number) => {
      world.asking(process);
      return world.call(process, to, patienceMs, work);
    };
    return new Mover({
      ...{ own, store, clock: time, map: () => this.map },
      report: (sentence) => process.node.cluster.said(`${process.label}: ${sentence}`),
      peers: {
        marksOf: (member) => this.marksOf(member),
        prepare: (to, ...given) => call(to, (other) => other.receiver.prepare(...given), PREPARE_PATIENCE_MS),
        send: (to, ...given) => call(to, (other) => other.receiver.count(...given), CALL_PATIENCE_MS),
        finish: (to, ...given) => call(to, (other) => other.receiver.finish(...given), CALL_PATIENCE_MS),
      },
      source: {
        choose: (...given) => keys.choose(...given),
        catchUp: () => keys.catchUp(),
        send: (...given) => keys.send(...given),
        drop: (...given) => keys.drop(...given),
        covers: (marks) => keys.covers(marks),
        marks: () => this.marks(),
      },
    });
  }

  // ---- the process --------------------------------------------------------------------------------------------------

  tick(): void {
    this.quotas.tick();
  }

  established(link: Link): void {
    this.quotas.established(link);
  }

  closed(link: Link): void {
    this.quotas.closed(link);
  }

  hear(link: Link, frame: QuotaFrame): void {
    this.quotas.hear(link, frame);
  }
}

export function memberOf(process: NodeProcess): MoveMember {
  return process.service as MoveMember;
}
