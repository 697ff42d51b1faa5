import type { Awaited, DivideContext, Divided, KnownServer, PolicyBook } from '@quotadb/quota';
import { systemMonotonicMs } from '@quotadb/resp';
import type { Logger } from 'pino';
import { OccasionalLog } from '../logging/occasional-log.js';
import type { RegionPeers } from './region-peers.js';

export interface MemberDivisionOptions {
  readonly book: PolicyBook;
  readonly peers: RegionPeers;
  readonly logger: Logger;
  /** All servers that this one knows of, and those of them that an operator has removed. */
  readonly knownServers: () => ReadonlySet<string>;
  readonly removed: () => ReadonlySet<string>;
  readonly nowMs: () => number;
}

/** The home divides the tokens of a region among its members, step by step. */
export class MemberDivision {
  private readonly options: MemberDivisionOptions;
  private readonly log = new OccasionalLog(systemMonotonicMs);

  constructor(options: MemberDivisionOptions) {
    this.options = options;
  }

  /** When a server has come, or says what it holds. True where the policies have changed. */
  takeStep(): boolean {
    const { book, logger, nowMs } = this.options;
    if (!book.isHome || book.set === undefined) return false;
    try {
      if (!book.divide(this.view(), nowMs())) {
        this.logAwaited();
        return false;
      }
    } catch (error) {
      logger.error({ err: error }, 'members of a region could not be written; they stay as they were');
      return false;
    }
    for (const { region, members, isAgreed } of book.divided())
      logger.info({ quotaRegion: region, members, isAgreed }, 'the tokens of a region are divided');
    return true;
  }

  /** For QUOTA.HOME. */
  describe(): readonly (readonly [string, string])[] {
    const { book, nowMs } = this.options;
    return [
      ['members', book.divided().map(printDivided).join('; ')],
      ['members-wait-for', book.awaited(this.view(), nowMs()).map(printAwaited).join('; ')],
    ];
  }

  /** A change of members that waits is logged once for each list of servers that it waits for. */
  private logAwaited(): void {
    const { book, logger, nowMs } = this.options;
    for (const { region, servers } of book.awaited(this.view(), nowMs()))
      this.log.say(`awaited ${region} ${servers.join(' ')}`, () =>
        logger.warn(
          { quotaRegion: region, waitsFor: servers },
          'a change of the members of a region waits for servers that the home does not reach, or with older policies',
        ),
      );
  }

  /** The servers as the home sees them. */
  private view(): Pick<DivideContext, 'servers' | 'removed'> {
    const removed = this.options.removed();
    const names = [...this.options.knownServers()].filter((name) => !removed.has(name));
    return { servers: names.map((name) => this.knownServer(name)), removed };
  }

  private knownServer(name: string): KnownServer {
    const { book, peers } = this.options;
    if (name === book.home) return { name, version: book.version, divides: true };
    const held = peers.held(name);
    return { name, version: held?.version, divides: held?.divides ?? false };
  }
}

function printAwaited({ region, servers }: Awaited): string {
  return `${region}: ${servers.join(' ')}`;
}

function printDivided({ region, members, isAgreed }: Divided): string {
  return `${region}: ${members.join(' ')}${isAgreed ? '' : ' (proposed)'}`;
}
