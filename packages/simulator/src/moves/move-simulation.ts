import { HERE, type MapDocument, type Member, mapOf, planMove, SLOT_COUNT, setPaused } from '@quotadb/cluster';
import { type Random, valueOfOpen, withKey } from '@quotadb/engine/testing';
import type { BookStore, QuotaServiceOptions } from '../quotas/quota-service.js';
import { Cluster, type Outcome, type SimulationOptions } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { SimulatedNode } from '../world/node.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { SimulatedEtcd } from './etcd.js';
import { LATEST_MS, MemberCalls } from './member-calls.js';
import { MoveClients } from './move-clients.js';
import { MoveMember, type MoveWorld, memberOf, PREFIX } from './move-member.js';
import { MoveOracle } from './oracle.js';
import { type MovePlan, type MoveStepKind, makeMovePlan, slotOf } from './plan.js';

const MAP_KEY = `${PREFIX}/map`;
const HEALING_POLL_MS = 250;
const HEALING_LIMIT_MS = 120_000;
/** A mover fails at one of its next calls to etcd and to other members. */
const CALLS_AHEAD = 40;
const DRAIN_DENIALS = 4;

export function simulateMoves(seed: number, options: SimulationOptions = {}): Promise<Outcome<MovePlan>> {
  return new MoveSimulation(makeMovePlan(seed), options).run();
}

/** Groups of replicas with an etcd: clients count and take tokens while slots move between the groups. */
class MoveSimulation extends Cluster<MovePlan> {
  private readonly etcd = new SimulatedEtcd(this.scheduler, (key, value) => this.stored(key, value));
  private readonly oracle = new MoveOracle();
  private readonly calls = new MemberCalls(this, this.plan.lateness);
  private readonly books = new Map<SimulatedNode, BookStore>();
  private readonly kept = new Map<SimulatedNode, MapDocument>();
  private document!: MapDocument;
  /** Of every slot: how often it has changed hands, and the group that an operator gave it to last. */
  private readonly epochs = new Uint32Array(SLOT_COUNT);
  private readonly wanted = new Array<string>(SLOT_COUNT);
  /** 1 for every slot that is to move. */
  private readonly moving = new Uint8Array(SLOT_COUNT);
  private readonly clients = new MoveClients(this, this.oracle, {
    epochOf: (slot) => this.epochs[slot],
    isMoving: (slot) => this.moving[slot] === 1,
    counted: (slot) => this.checkOwners(slot),
  });
  private readonly faults = faultsOf(this);
  private readonly traps = new Map<NodeProcess, { callsLeft: number; readonly strike: () => void }>();
  private readonly world: MoveWorld = {
    etcd: this.etcd,
    pace: this.plan,
    keptOf: ({ node }) => this.kept.get(node),
    keep: ({ node }, document) => this.keep(node, document),
    call: (from, to, ...given) => this.calls.call(from, to.region, ...given),
    applied: () => this.checkAllOwners(),
    asking: (process) => this.spring(process),
    quotaOptionsOf: (process) => this.quotaOptionsOf(process),
  };
  private readonly actions: Actions<MoveStepKind> = {
    ...this.faults,
    count: (_, random) => this.clients.countBurst(random),
    take: (_, random) => this.clients.takeBurst(random),
    move: (_, random) => this.planMove(random),
    pauseMoves: (_, random) => {
      this.change((document) => setPaused(document, true));
      this.scheduler.after(this.trouble(random), () => this.change((document) => setPaused(document, false)));
    },
    failEtcd: (_, random) => this.spoil('failure', random.pick([0.05, 0.3, 1]), random),
    lagEtcd: (_, random) => this.spoil('lagMs', random.pick([100, 1500, 6000]), random),
    lateLeases: (_, random) => this.spoil('leasesLateMs', random.pick([1000, 10_000]), random),
    endLeases: () => this.etcd.endAllLeases(),
    breakWatches: () => this.etcd.breakWatches(),
    compactEtcd: () => this.etcd.compact(),
    cutFromEtcd: (process, random) => {
      const { client } = memberOf(process);
      client.isCut = true;
      this.scheduler.after(this.trouble(random), () => {
        client.isCut = false;
      });
    },
    killMover: (_, random) =>
      this.trap(random, (process) => this.faults[random.pick(['killProcess', 'failPower'] as const)](process, random)),
    pauseMover: (_, random) => this.trap(random, (process) => this.faults.pause(process, random)),
  };

  constructor(plan: MovePlan, options: SimulationOptions) {
    super(plan, options);
    const membersOf = (group: string) =>
      plan.regions
        .filter(({ region }) => groupOf(region) === group)
        .map(({ region }, index) => ({ region, host: group, port: 1 + index }));
    const parts = this.random.chance(0.5) ? plan.groups : plan.groups.slice(0, 1);
    const size = Math.ceil(SLOT_COUNT / parts.length);
    const groups = plan.groups.map((group) => {
      const at = parts.indexOf(group);
      const last = Math.min(SLOT_COUNT, (at + 1) * size) - 1;
      return [group, { ...(at !== -1 && { slots: `${at * size}-${last}` }), members: membersOf(group) }] as const;
    });
    this.change(() => ({ revision: 1, groups: Object.fromEntries(groups) }));
    for (let slot = 0; slot < SLOT_COUNT; slot++) this.wanted[slot] = parts[Math.floor(slot / size)];
  }

  // ---- groups -------------------------------------------------------------------------------------------------------

  override serviceOf(process: NodeProcess): MoveMember {
    const { region } = process;
    const own: Member = { group: groupOf(region), region, name: '', host: 'h', port: 1, tlsPort: undefined };
    return new MoveMember(process, this.world, own);
  }

  private quotaOptionsOf(process: NodeProcess): QuotaServiceOptions {
    const store = this.books.get(process.node) ?? { saved: undefined };
    this.books.set(process.node, store);
    return {
      ...{ process, store, home: `${groupOf(process.region)}1`, skewBoundMs: 2 * this.plan.skewBoundMs },
      ...{ hasRoutes: false, seals: undefined, newId: () => 'unused', removed: () => new Set(), admitted: () => {} },
    };
  }

  /** Every group is a mesh, and knows nothing of the others. */
  override wirePeers(): void {
    for (const node of this.nodes)
      for (const other of this.nodes)
        if (other !== node && groupOf(other.region) === groupOf(node.region)) node.peers.add(other.region);
  }

  protected override up(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.cameBack(process.origin, (shard) => process.ownSequence(shard));
    this.scheduler.settled();
    memberOf(process)
      .start()
      .catch((error: Error) => this.failed(`${process.label}: ${error.stack}`));
  }

  protected override ending(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.ended(process.origin, (shard) => process.disk?.durable(shard) ?? 0);
  }

  private keep(node: SimulatedNode, document: MapDocument): boolean {
    if (node.disk?.isFailing) return false;
    this.kept.set(node, document);
    return true;
  }

  // ---- the map ------------------------------------------------------------------------------------------------------

  private stored(key: string, value: string): void {
    if (key !== MAP_KEY) return;
    const before = this.document && mapOf(this.document);
    this.document = JSON.parse(value) as MapDocument;
    const after = mapOf(this.document);
    this.moving.fill(0);
    for (const { first, last } of after.moves.flatMap(({ slots }) => slots)) this.moving.fill(1, first, last + 1);
    for (let slot = 0; slot < SLOT_COUNT; slot++)
      if (before !== undefined && before.owners[slot] !== after.owners[slot]) this.epochs[slot]++;
    this.said(`the map of revision ${after.revision}: ${JSON.stringify(this.document.moves ?? [])}`);
  }

  /** As an operator changes it, whatever state etcd is in. */
  private change(change: (document: MapDocument) => MapDocument): void {
    this.etcd.set(MAP_KEY, JSON.stringify(change(this.document)));
  }

  private planMove(random: Random): void {
    const to = random.pick(this.plan.groups);
    const first = random.below(SLOT_COUNT);
    const last = Math.min(SLOT_COUNT - 1, first + random.below(random.pick([300, 5000, SLOT_COUNT])));
    try {
      this.change((document) => planMove(document, [{ first, last }], to));
    } catch (error) {
      this.said(`no move of ${first}-${last} to ${to}: ${(error as Error).message}`);
      return;
    }
    this.wanted.fill(to, first, last + 1);
  }

  private spoil(what: keyof SimulatedEtcd['faults'], amount: number, random: Random): void {
    const { faults } = this.etcd;
    const usual = what === 'lagMs' ? 2 : 0;
    faults[what] = amount;
    this.said(`etcd: ${what} is ${amount}`);
    this.scheduler.after(this.trouble(random), () => {
      faults[what] = usual;
    });
  }

  /** Something happens to a member that moves slots, in the middle of it. */
  private trap(random: Random, strike: (process: NodeProcess) => void): void {
    const movers = this.running().filter((process) => memberOf(process).isMoving);
    if (movers.length === 0) return;
    const process = random.pick(movers);
    this.traps.set(process, { callsLeft: random.below(CALLS_AHEAD), strike: () => strike(process) });
  }

  private spring(process: NodeProcess): void {
    const trap = this.traps.get(process);
    if (trap === undefined || trap.callsLeft-- > 0) return;
    this.traps.delete(process);
    this.scheduler.after(this.random.next() * 3, () => {
      if (process.isRunning && !this.calls.isCalm) trap.strike();
    });
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  protected act(step: Step<MoveStepKind>, process: NodeProcess, random: Random): void {
    this.clients.definePolicies();
    this.actions[step.kind](process, random);
  }

  // ---- what must hold -----------------------------------------------------------------------------------------------

  private checkOwners(slot: number): void {
    const serving = this.running().filter((process) => memberOf(process).states[slot] === HERE);
    const groups = new Set(serving.map(({ region }) => groupOf(region)));
    if (groups.size > 1)
      this.failed(`slot ${slot} is served by ${serving.map(({ label }) => label).join(' and ')}, of two groups`);
  }

  private checkAllOwners(): void {
    for (const key of [...this.plan.keys, ...this.plan.subjects]) this.checkOwners(slotOf(key));
  }

  checkAll(): void {
    this.checkAllOwners();
    for (const process of this.running()) {
      process.advance();
      for (const key of this.plan.keys) {
        const slot = slotOf(key);
        if (memberOf(process).states[slot] !== HERE) continue;
        const fault = this.oracle.findFault(key, valueIn(process, key), this.epochs[slot], process.origin, false);
        if (fault !== undefined) this.failed(`${process.label}: ${fault}`);
      }
    }
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  protected async end(): Promise<void> {
    Object.assign(this.etcd.faults, { failure: 0, lagMs: 2, leasesLateMs: 0 });
    this.calls.isCalm = true;
    this.clients.isCalm = true;
    for (const process of this.running()) memberOf(process).client.isCut = false;
    if (this.document.paused) this.change((document) => setPaused(document, false));
    this.clients.definePolicies();
    let differences = await this.settle();
    // Late requests arrive when everything seems to be over.
    if (differences.length === 0 && this.plan.lateness > 0) {
      await this.pass(LATEST_MS);
      differences = await this.settle();
    }
    for (const difference of differences.slice(0, 3)) this.failed(`not healed: ${difference}`);
    if (this.failures.length === 0) this.checkAll();
    if (this.failures.length === 0) await this.drainTokens();
  }

  /** Until nothing differs, or for long enough. */
  private async settle(): Promise<string[]> {
    let differences: string[] = [];
    for (let passedMs = 0; passedMs < HEALING_LIMIT_MS && this.failures.length === 0; passedMs += HEALING_POLL_MS) {
      await this.pass(HEALING_POLL_MS);
      if (passedMs % 2000 === 0) this.clients.definePolicies();
      differences = this.findDifferences();
      if (differences.length === 0) break;
    }
    return differences;
  }

  private findDifferences(): string[] {
    const running = this.running();
    if (running.length < this.present().length) return ['not all nodes are up'];
    const { moves } = this.document;
    if (moves !== undefined) return [`slots still move: ${JSON.stringify(moves)}; ${this.waits()}`];
    const map = mapOf(this.document);
    const misplaced = this.wanted.findIndex((group, slot) => map.groupOf(slot)?.name !== group);
    if (misplaced !== -1) return [`slot ${misplaced} is not where an operator has moved it: ${this.wanted[misplaced]}`];
    return running.flatMap((process) => this.plan.keys.flatMap((key) => this.findDifference(process, key)));
  }

  private findDifference(process: NodeProcess, key: string): string[] {
    const { label, region, origin } = process;
    const slot = slotOf(key);
    if (this.wanted[slot] !== groupOf(region)) {
      const exists = withKey(process.engine, key, () => process.engine.exists);
      return exists ? [`${label} holds ${key}, whose slot is of ${this.wanted[slot]}`] : [];
    }
    const isServed = memberOf(process).states[slot] === HERE;
    const fault = this.oracle.findFault(key, valueIn(process, key), this.epochs[slot], origin, true);
    return [
      ...(isServed ? [] : [`${label} does not serve ${key}`]),
      ...(fault === undefined ? [] : [`${label}: ${fault}`]),
    ];
  }

  private waits(): string {
    return this.running()
      .map(
        (process) =>
          `${process.label} (revision ${memberOf(process).map?.revision}): ${memberOf(process).mover.waitsFor}`,
      )
      .join('; ');
  }

  /** In peace, all tokens that are left can be taken, and no more. */
  private async drainTokens(): Promise<void> {
    for (const subject of this.plan.subjects)
      for (let denials = 0; denials < DRAIN_DENIALS && this.failures.length === 0; ) {
        this.clients.take(subject, 1, this.random, () => {
          denials++;
        });
        await this.pass(HEALING_POLL_MS);
      }
  }
}

function groupOf(region: string): string {
  return region[0];
}

function valueIn({ engine }: NodeProcess, key: string): bigint {
  return withKey(engine, key, () => valueOfOpen(engine));
}
