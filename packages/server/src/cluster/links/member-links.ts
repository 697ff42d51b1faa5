import type { SecureContextOptions } from 'node:tls';
import { Connection, resolveOptions } from '@quotadb/client/connection';
import type { Word } from '@quotadb/client/resp';
import { type Member, nodeIdOf } from '@quotadb/cluster';
import type { Configuration } from '@quotadb/config';
import { rawReplies } from './raw-replies.js';

/** A member that does not answer a PING for this long is not reachable. */
const PING_TIMEOUT_MS = 1000;
const PING_INTERVAL_MS = 1000;
const CONNECT_TIMEOUT_MS = 2000;
/** Commands that wait for one member. */
const MAXIMUM_PENDING = 10_000;
const FIRST_PAUSE_MS = 20;
/** Twice as long after each attempt, up to this: a member that is back is seen soon. */
const LONGEST_PAUSE_MS = 500;

export interface MemberLinksOptions {
  readonly config: Configuration;
  readonly tls: () => SecureContextOptions | undefined;
  /** The members that are reachable may be others than before; called at every PING. */
  readonly changed: () => void;
}

interface Link {
  readonly connection: Connection;
  /** The last PING was answered. */
  isAnswering: boolean;
  isPinging: boolean;
}

/**
 * Connections to other nodes of the cluster, over RESP, one for each version of it. Each says CLUSTER CARRY first, by
 * which the other node knows that it must not carry commands on: a command is carried once.
 */
export class MemberLinks {
  private readonly options: MemberLinksOptions;
  private readonly links = new Map<string, Link>();
  /** The ids of members that are looked after without a command for them. */
  private watched = new Map<string, Member>();
  private readonly pinging: NodeJS.Timeout;

  constructor(options: MemberLinksOptions) {
    this.options = options;
    this.pinging = setInterval(() => this.pingAll(), PING_INTERVAL_MS);
    this.pinging.unref();
  }

  /** Looks after these members from now on; connections to those that are not among all of the map's members end. */
  watch(members: readonly Member[], all: readonly Member[]): void {
    this.watched = new Map(members.map((member) => [nodeIdOf(member), member]));
    const addresses = new Set(all.flatMap((member) => [linkName(member, 2), linkName(member, 3)]));
    for (const [name, { connection }] of this.links) {
      if (addresses.has(name)) continue;
      this.links.delete(name);
      void connection.close(true);
    }
    for (const member of members) this.linkTo(member, 2);
  }

  /** A member that was never tried counts as reachable. */
  isReachable(member: Member): boolean {
    const link = this.links.get(linkName(member, 2));
    return link === undefined || (!link.connection.isAway && link.isAnswering);
  }

  /** The reply as the bytes that it came in. Rejects with a ReplyError or a ConnectionError. */
  async send(member: Member, words: readonly Word[], protocol: 2 | 3, timeoutMs: number): Promise<Uint8Array> {
    const reply = await this.linkTo(member, protocol).connection.send(words, undefined, timeoutMs);
    return Buffer.from(reply as string, 'latin1');
  }

  /** The same over a connection for this one question: a member that cannot be reached is known at once. */
  async ask(member: Member, words: readonly Word[], timeoutMs: number): Promise<Uint8Array> {
    const connection = this.connect(member, 2, () => undefined);
    try {
      return Buffer.from((await connection.send(words, undefined, timeoutMs)) as string, 'latin1');
    } finally {
      void connection.close(true);
    }
  }

  stop(): void {
    clearInterval(this.pinging);
    for (const { connection } of this.links.values()) void connection.close(true);
    this.links.clear();
  }

  private linkTo(member: Member, protocol: 2 | 3): Link {
    const name = linkName(member, protocol);
    const known = this.links.get(name);
    if (known !== undefined) return known;
    const link: Link = {
      connection: this.connect(member, protocol, growingPause),
      isAnswering: true,
      isPinging: false,
    };
    this.links.set(name, link);
    return link;
  }

  private connect(
    { host, port, tlsPort }: Member,
    protocol: 2 | 3,
    reconnectAfterMs: (attempt: number) => number | undefined,
  ): Connection {
    const { config, tls, changed } = this.options;
    const password = config.clusterPassword === '' ? config.password : config.clusterPassword;
    return new Connection({
      ...resolveOptions({
        host,
        port: (tlsPort ?? port) as number,
        ...(tlsPort !== undefined && { tls: tls() ?? true }),
        ...(config.clusterUser !== '' && { username: config.clusterUser }),
        ...(password !== '' && { password }),
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        maxPending: MAXIMUM_PENDING,
        reconnectAfterMs,
        onConnectionError: changed,
      }),
      greetings: [...(protocol === 3 ? [['HELLO', '3']] : []), ['CLUSTER', 'CARRY']],
      builder: rawReplies,
    });
  }

  private pingAll(): void {
    for (const member of this.watched.values()) void this.ping(this.linkTo(member, 2));
  }

  /** One at a time: the answer to an earlier PING must not undo that to a later one. */
  private async ping(link: Link): Promise<void> {
    if (link.isPinging) return;
    link.isPinging = true;
    link.isAnswering = await link.connection.send(['PING'], undefined, PING_TIMEOUT_MS).then(
      () => true,
      () => false,
    );
    link.isPinging = false;
    // Also where the answer is the same: the connection may have come back since.
    this.options.changed();
  }
}

function growingPause(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), LONGEST_PAUSE_MS);
}

function linkName({ host, port, tlsPort }: Member, protocol: 2 | 3): string {
  return `${host} ${tlsPort ?? port} ${protocol}`;
}
