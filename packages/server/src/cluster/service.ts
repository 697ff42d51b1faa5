import type { SecureContextOptions } from 'node:tls';
import {
  type ClusterMap,
  type ClusterView,
  countSlots,
  findRevisionFault,
  inRanges,
  type MapStore,
  type Member,
  nodeIdOf,
  printRange,
  rangesOf,
  type SlotRange,
  slotStates,
  viewOf,
} from '@quotadb/cluster';
import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import { ClusterBoard, type ForwardAnswer, type ForwardRequest, HELD, HERE } from '@quotadb/resp';
import type { Logger } from 'pino';
import { findClaim } from './claims.js';
import { Forwarder } from './forwarder.js';
import { KeptMap } from './kept-map.js';
import { MemberLinks } from './links/member-links.js';
import { textOfBulk } from './links/raw-replies.js';
import { AGAIN_MS, fileSource, type MapSource } from './map-source.js';
import { type MovingOptions, MovingService } from './moving/moving-service.js';
import { openEtcd } from './open-etcd.js';
import { StoreSource } from './store-source.js';
import { countBySlot } from './stored/occupied-slots.js';
import { WaitingCommands } from './waiting-commands.js';

/** The owner of a slot of another group, in the table of the lanes. */
const ELSEWHERE = 1;
/** Between two looks at commands that have begun and wait. */
const UNSETTLED_MS = 5;

export interface ClusterOptions {
  readonly config: Configuration;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly tls: () => SecureContextOptions | undefined;
  /** Resolves when the main thread may use the store, and every command that lanes had begun is done. */
  readonly settleLanes: () => Promise<void>;
  /** How many commands have begun, wait for an answer, and are of slots that are held. */
  readonly unsettled: () => Promise<number>;
  readonly quotas: MovingOptions['quotas'];
  readonly waitForDisk: MovingOptions['waitForDisk'];
  readonly nowMs: () => number;
  /** This server has less than other members of its region: clients are better served by those. */
  readonly isCopying: () => boolean;
}

/** The cluster map of a running server, on the main thread. */
export class ClusterService {
  readonly board = new ClusterBoard();
  readonly forwarder: Forwarder;
  private readonly options: ClusterOptions;
  private readonly links: MemberLinks;
  private readonly source: MapSource;
  /** Undefined where the map is in a file. */
  readonly store: MapStore | undefined;
  /** Undefined where the map is in a file. */
  readonly moving: MovingService | undefined;
  readonly waiting = new WaitingCommands(this.board.owners);
  private map: ClusterMap | undefined = undefined;
  private view: ClusterView | undefined = undefined;
  private isStopped = false;

  constructor(options: ClusterOptions) {
    this.options = options;
    const { config, tls } = options;
    this.links = new MemberLinks({ config, tls, changed: () => this.publish() });
    this.forwarder = new Forwarder(this.links);
    const { source, store } = this.openSource();
    this.source = source;
    this.store = store;
    const { links } = this;
    this.moving =
      store &&
      new MovingService({
        ...{ ...options, store, links },
        map: () => this.map,
        waits: (reason) => source.note?.(reason),
      });
  }

  /** After the data is loaded and before the first client. Rejects where the map cannot be used. */
  start(): Promise<void> {
    return this.source.start();
  }

  reload(): Promise<void> {
    return this.source.reload();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.moving?.stop();
    this.links.stop();
    await this.source.stop();
  }

  private openSource(): { readonly source: MapSource; readonly store?: MapStore } {
    const { config, logger } = this.options;
    const hasFile = config.etcdUrls.length === 0;
    // A start waits with the map of a file; in a store there may be a newer one meanwhile.
    const putIntoForce = (map: ClusterMap, isAtStart: boolean) =>
      isAtStart ? this.begin(map, hasFile) : this.change(map);
    if (hasFile) return { source: fileSource(config.clusterMapFile, logger, putIntoForce) };
    const { store, reload } = openEtcd(config, {
      troubled: (reason) => source.troubled(reason),
      refused: (mistakes) => source.refused(mistakes),
    });
    const { group, region, member: name } = config;
    const source = new StoreSource({
      ...{ store, logger, putIntoForce, reload },
      settle: (map, isOver) => this.settle(map, isOver),
      kept: new KeptMap(config.dataDirectory, logger),
      member: nodeIdOf({ group, region, name }),
      hint: `put the first one there with quotadb cluster init FILE --etcd ${config.etcdUrls.join(',')}`,
    });
    return { source, store };
  }

  forward(request: ForwardRequest, answered: (answer: ForwardAnswer) => void): void {
    const { map, view } = this;
    if (map === undefined || view === undefined) answered({ error: 'ERR the server has no cluster map yet' });
    else void this.forwarder.forward(() => this.map as ClusterMap, this.options.config.region, request).then(answered);
  }

  /** Whether no command is left that began under another map, on slots that are held in this one. */
  private async settle(map: ClusterMap, isOver: () => boolean): Promise<boolean> {
    const { settleLanes, unsettled } = this.options;
    this.moving?.prepareToLeave(map);
    await settleLanes();
    await new Promise((resolve) => setImmediate(resolve));
    while ((await unsettled()) > 0) {
      if (isOver()) return false;
      await new Promise((resolve) => setTimeout(resolve, UNSETTLED_MS));
    }
    await this.moving?.letGo(map);
    this.moving?.mover.notice();
    return true;
  }

  /** The map in force; undefined before there is one. */
  get current(): ClusterMap | undefined {
    return this.map;
  }

  /** Asks one member over a connection for this question; resolves with the text of its reply, a bulk string. */
  async askMember(member: Member, words: readonly string[], timeoutMs: number): Promise<string> {
    return textOfBulk(await this.links.ask(member, words, timeoutMs));
  }

  /** This server does not have the data of its group yet: clients are sent to others. */
  get isCopying(): boolean {
    return this.view?.nodes[this.view.ownIndex]?.isLive === false;
  }

  /** The names of the groups of the map but this one. */
  get otherGroups(): readonly string[] {
    const own = this.options.config.group;
    return (this.map?.groups ?? []).flatMap(({ name }) => (name === own ? [] : name));
  }

  /** Asks a member of a group; resolves with the text of its reply, a bulk string. */
  async askGroup(name: string, words: readonly string[], timeoutMs: number): Promise<string> {
    const group = this.map?.find(name);
    if (group === undefined) throw new Error(`the map has no group ${name}`);
    return textOfBulk(await this.forwarder.ask(group, this.options.config.region, words, timeoutMs));
  }

  get figures() {
    const { map, view, source, forwarder, options } = this;
    const others = view?.nodes.filter((_, index) => index !== view.ownIndex) ?? [];
    return {
      revision: map?.revision ?? 0,
      slots: countSlots(map?.find(options.config.group)?.slots ?? []),
      reachable: others.filter(({ isLive }) => isLive).length,
      unreachable: others.filter(({ isLive }) => !isLive).length,
      ...source.figures,
      forwarded: forwarder.forwarded,
      failed: forwarder.failed,
      waited: this.waiting.total,
      moves: this.moving && { ...this.moving.mover.figures, isWaiting: this.moving.mover.waitsFor !== '' },
    };
  }

  /** The first map: no key of another group may be here, and no other group may still have slots of this one. */
  private async begin(map: ClusterMap, waits: boolean): Promise<string | undefined> {
    const own = this.ownMember(map);
    if (typeof own === 'string') return own;
    const index = map.groups.findIndex(({ name }) => name === own.group);
    const isMoving = slotsInMoves(map, own.group);
    const foreign = rangesOf((slot) => map.owners[slot] !== index && !isMoving(slot));
    // In a store slots change hands by moves, with their tokens: a mark of a refill that came late is of no use.
    const occupied = await this.findOccupied(foreign, this.store !== undefined);
    if (occupied !== undefined) return occupied;
    for (let claim = await this.findClaim(map, own); claim !== undefined; claim = await this.findClaim(map, own)) {
      if (this.isStopped) return 'the server is stopping';
      const reason = `${claim}; this group takes them when it has let go`;
      if (!waits) return reason;
      this.options.logger.warn(`the start waits: ${reason}`);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    this.putIntoForce(map);
    return undefined;
  }

  private async change(map: ClusterMap): Promise<string | undefined> {
    const before = this.map as ClusterMap;
    const own = this.ownMember(map);
    if (typeof own === 'string') return own;
    const fault = findRevisionFault(before, map);
    if (fault !== undefined) return JSON.stringify(before) === JSON.stringify(map) ? undefined : fault;
    const claim = await this.findClaim(map, own);
    if (claim !== undefined) return `${claim}; this group takes them when it has let go`;
    return this.letGo(before, map, own);
  }

  /** From now on no command changes the slots that are lost; they are kept after all where something is in them. */
  private async letGo(before: ClusterMap, map: ClusterMap, own: Member): Promise<string | undefined> {
    const { owners } = this.board;
    const index = map.groups.findIndex(({ name }) => name === own.group);
    const lost = rangesOf((slot) => owners[slot] === HERE && map.owners[slot] !== index);
    if (lost.length > 0) {
      for (const { first, last } of lost) owners.fill(ELSEWHERE, first, last + 1);
      await this.options.settleLanes();
      const occupied = await this.findOccupied(lost);
      if (occupied !== undefined) {
        this.putIntoForce(before);
        return occupied;
      }
    }
    this.putIntoForce(map);
    return undefined;
  }

  private async findOccupied(slots: readonly SlotRange[], keysOnly = false): Promise<string | undefined> {
    if (slots.length === 0) return undefined;
    const counts = await countBySlot(this.options.engine, keysOnly);
    const isMeant = inRanges(slots);
    const occupied = rangesOf((slot) => counts[slot] > 0 && isMeant(slot));
    if (occupied.length === 0) return undefined;
    const keys = occupied.reduce(
      (sum, { first, last }) => counts.subarray(first, last + 1).reduce((total, count) => total + count, sum),
      0,
    );
    const shown = occupied.slice(0, 10).map(printRange).join(', ');
    return (
      `the map gives the slots ${shown}${occupied.length > 10 ? ', …' : ''} to another group, and this server holds ` +
      `${keys} keys of them, which would be lost: leave these slots to the group ${this.options.config.group}`
    );
  }

  /** Slots that this group gains, and that a member of another group still has. */
  private findClaim(map: ClusterMap, own: Member): Promise<string | undefined> {
    const { owners } = this.board;
    const index = map.groups.findIndex(({ name }) => name === own.group);
    // What was held for this group has been handed over.
    const isGained = (slot: number) => owners[slot] !== HERE && owners[slot] !== HELD;
    const gained = rangesOf((slot) => map.owners[slot] === index && isGained(slot));
    const others = [...map.groups, ...(this.map?.groups ?? [])].filter(({ name }) => name !== own.group);
    return findClaim(this.links, others, gained);
  }

  private ownMember(map: ClusterMap): Member | string {
    const { group, region, member } = this.options.config;
    const name = member === '' ? '' : `, member ${member}`;
    const found = map.findMember(group, region, member);
    return found ?? `the group ${group} has no member of this server's name in the map: region ${region}${name}`;
  }

  private putIntoForce(map: ClusterMap): void {
    const { group, region } = this.options.config;
    const own = this.ownMember(map) as Member;
    this.map = map;
    this.board.owners.set(slotStates(map, group));
    const id = nodeIdOf(own);
    const members = map.groups.flatMap((each) => each.members);
    this.links.watch(
      members.filter((member) => member.region === region && nodeIdOf(member) !== id),
      members,
    );
    this.publish();
    this.waiting.goOn();
  }

  /** Makes the view that clients get from now on. */
  private publish(): void {
    const { map } = this;
    if (map === undefined || this.isStopped) return;
    const own = this.ownMember(map) as Member;
    const id = nodeIdOf(own);
    const isLive = (member: Member) =>
      nodeIdOf(member) === id ? !this.options.isCopying() : this.links.isReachable(member);
    const view = viewOf({ map, own, isLive });
    if (JSON.stringify(view) === JSON.stringify(this.view)) return;
    this.view = view;
    this.board.setView(view);
  }
}

/** Slots that a group may hold copies of without owning them: those it has just given away, and those that come. */
function slotsInMoves({ moves }: ClusterMap, group: string): (slot: number) => boolean {
  const ranges = moves.flatMap(({ from, to, slots, left }) => [
    ...(from === group ? left : []),
    ...(to === group ? slots : []),
  ]);
  return inRanges(ranges);
}
