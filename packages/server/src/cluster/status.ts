import { type ClusterMap, countSlots, type Member, nodeIdOf, rangesOf, UNASSIGNED } from '@quotadb/cluster';
import type { Configuration } from '@quotadb/config';
import type { ClusterFigures, GroupFigures, GroupMember } from '@quotadb/dashboard';
import { serverName } from '@quotadb/wire';
import type { PoliciesOfGroup } from './policies.js';

/** Between two rounds of questions to all other members. */
const ROUND_INTERVAL_MS = 2000;
const PATIENCE_MS = 1500;
/** Members that are asked at once. */
const AT_ONCE = 16;

export interface ClusterStatusOptions {
  readonly config: Pick<Configuration, 'group' | 'region' | 'member'>;
  /** The map in force; undefined before there is one. */
  readonly map: () => ClusterMap | undefined;
  /** Asks a member over RESP; rejects where it does not answer. */
  readonly ask: (member: Member, words: readonly string[], timeoutMs: number) => Promise<string>;
  /** How the policies of other groups compare with those here, where that is known. */
  readonly policies: () => readonly PoliciesOfGroup[];
}

/** What operators see of a cluster of groups, for the page, `quotadb status` and metrics alike. */
export class ClusterStatus {
  private readonly options: ClusterStatusOptions;
  /** By the id of a member: the revision of the map that it knows, or null where it did not answer. */
  private revisions: ReadonlyMap<string, number | null> = new Map();
  private timer: NodeJS.Timeout | undefined = undefined;
  private isStopped = false;

  constructor(options: ClusterStatusOptions) {
    this.options = options;
  }

  start(): void {
    const again = async () => {
      await this.askAll();
      if (this.isStopped) return;
      this.timer = setTimeout(() => void again(), ROUND_INTERVAL_MS);
      this.timer.unref();
    };
    void again();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Undefined before there is a map. */
  describe(): ClusterFigures | undefined {
    const map = this.options.map();
    if (map === undefined) return undefined;
    const groups = map.groups.map((group) => this.describeGroup(map, group.name));
    const revisions = groups.flatMap(({ members }) => members.flatMap(({ revision }) => revision ?? []));
    return {
      revision: map.revision,
      revisions: new Set(revisions).size,
      group: this.options.config.group,
      unassignedSlots: countSlots(rangesOf((slot) => map.owners[slot] === UNASSIGNED)),
      groups,
      moves: map.moves.map(({ from, to, slots, held }) => ({
        from,
        to,
        slots: countSlots(slots),
        ranges: slots.map(({ first, last }) => [first, last] as const),
        heldSlots: countSlots(held),
      })),
      isPaused: map.isPaused,
    };
  }

  private describeGroup(map: ClusterMap, name: string): GroupFigures {
    const { slots = [], members = [] } = map.find(name) ?? {};
    const policies = this.options.policies().find(({ group }) => group === name);
    return {
      name,
      isOwn: name === this.options.config.group,
      slots: countSlots(slots),
      ranges: slots.map(({ first, last }) => [first, last] as const),
      members: members.map((member) => this.describeMember(map, member)),
      policies: policies?.state ?? null,
      trouble: policies?.state === 'different' ? policies.reason : '',
    };
  }

  private describeMember(map: ClusterMap, member: Member): GroupMember {
    const { host, port, tlsPort } = member;
    const revision = this.isOwn(member) ? map.revision : this.revisions.get(nodeIdOf(member));
    const state = this.isOwn(member)
      ? 'here'
      : revision === undefined
        ? 'unknown'
        : revision === null
          ? 'unreachable'
          : 'reachable';
    const name = serverName({ region: member.region, member: member.name });
    return { name, address: `${host}:${tlsPort ?? port}`, state, revision: revision ?? null };
  }

  private isOwn(member: Member): boolean {
    const { group, region, member: name } = this.options.config;
    return member.group === group && member.region === region && member.name === name;
  }

  private async askAll(): Promise<void> {
    const members = (this.options.map()?.groups ?? []).flatMap((group) => group.members);
    const others = members.filter((member) => !this.isOwn(member));
    const revisions = new Map<string, number | null>();
    const askNext = async (): Promise<void> => {
      for (let member = others.pop(); member !== undefined && !this.isStopped; member = others.pop())
        revisions.set(nodeIdOf(member), await this.revisionOf(member));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, askNext));
    this.revisions = revisions;
  }

  private async revisionOf(member: Member): Promise<number | null> {
    const text = await this.options.ask(member, ['CLUSTER', 'INFO'], PATIENCE_MS).catch(() => undefined);
    if (text === undefined) return null;
    return Number(/^cluster_current_epoch:(\d{1,16})\r?$/m.exec(text)?.[1] ?? 0);
  }
}
