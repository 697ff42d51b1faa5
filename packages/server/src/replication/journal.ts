import type { Link, LinkFigures, Member } from '@quotadb/replication';
import type { MeshEvents, MeshPeer } from '@quotadb/replication/mesh';
import { NO_PEER_FIGURES, type PeerFigures } from '@quotadb/resp';
import type { Logger } from 'pino';
import { OccasionalLog } from '../logging/occasional-log.js';

/** Longer than the pause after which changes that were not applied are requested again. */
const AHEAD_SHOWN_MS = 30_000;

/** A region's figures and troubles, over all links to it. */
interface PeerRecord {
  figures: PeerFigures;
  /** Why it is not connected; empty where it is, or the reason is unknown. */
  trouble: string;
  isRefused: boolean;
  /** The last number from it that was dated too far ahead, and when it came. */
  ahead: string;
  aheadAtMs: number;
  connections: number;
  refusals: number;
}

/** Events between this replica and its peers: lines for the log, figures for INFO. */
export class Journal {
  readonly refusals: Record<string, number> = {};
  faults = 0;
  private readonly logger: Logger;
  private readonly nowMs: () => number;
  private readonly log: OccasionalLog;
  private readonly records = new Map<string, PeerRecord>();

  constructor(logger: Logger, nowMs: () => number) {
    this.logger = logger;
    this.nowMs = nowMs;
    this.log = new OccasionalLog(nowMs);
  }

  troubleOf(region: string): { readonly trouble: string; readonly isRefused: boolean } {
    return this.records.get(region) ?? { trouble: '', isRefused: false };
  }

  /** Why changes of a connected region are not applied; empty where they are. */
  aheadOf(region: string): string {
    const record = this.records.get(region);
    return record !== undefined && this.nowMs() - record.aheadAtMs < AHEAD_SHOWN_MS ? record.ahead : '';
  }

  figuresOf(region: string, link: Link | undefined): PeerFigures {
    const record = this.records.get(region);
    const { connections = 0, refusals = 0, figures = NO_PEER_FIGURES } = record ?? {};
    const now = link === undefined ? figures : sum(figures, link.figures);
    return { ...now, connections, refusals };
  }

  drop(region: string): void {
    this.records.delete(region);
    this.log.reset(`${region} `);
  }

  events(): Partial<MeshEvents> {
    return {
      established: (link) => this.established(link),
      closed: (link) => this.closed(link),
      refused: (link, { code, message }, by) => this.refused(link, code, message, by),
      silent: (link) => this.silent(link),
      skewed: (link) => this.skewed(link),
      outOfMemory: (link) =>
        this.warn(
          link.region,
          'memory',
          {},
          'memory is full, and changes of this peer are refused: raise --max-memory',
        ),
      originRefused: (link, reason) =>
        this.warn(
          link.region,
          'origins',
          {},
          `changes of an incarnation of region ${link.region}, or that it relays, are not applied: ${reason}`,
        ),
      ahead: (link, what) => this.ahead(link, what),
      mismatch: (link, origin, shard) =>
        this.warn(
          link.region,
          'mismatch',
          { origin, shard },
          'this region and a peer hold different data of an origin; they compare and repair it',
        ),
      givenUp: (member) => this.givenUp(member),
      dialFailed: (peer, error) => this.dialFailed(peer, error),
      turnedAway: (code, message, address) => this.turnedAway(code, message, address),
      fault: (link, error) => {
        this.faults++;
        this.logger.error(
          { err: error, peer: link?.region },
          'replication failed on a bug; the link is closed and dialed again',
        );
      },
    };
  }

  private established(link: Link): void {
    const { region } = link;
    const record = this.recordOf(region);
    record.connections++;
    record.trouble = '';
    record.isRefused = false;
    this.log.reset(`${region} `);
    const { address, isDialed, certified } = link.acquaintance;
    const expected = link.keysExpected > 0 ? { keysExpected: link.keysExpected } : {};
    this.logger.info(
      { peer: region, address, isDialed, isEncrypted: certified !== undefined, ...expected },
      link.keysExpected > 0
        ? 'connected to a region that holds data which this one lacks: copying'
        : 'connected to a region',
    );
  }

  private closed(link: Link): void {
    if (link.establishedAtMs === 0) return;
    const record = this.recordOf(link.region);
    record.figures = sum(record.figures, link.figures);
    if (record.trouble === '') record.trouble = 'the connection has ended';
    this.logger.info({ peer: link.region, address: link.acquaintance.address }, 'the link to a region has ended');
  }

  private refused(link: Link, code: string, message: string, by: 'here' | 'there'): void {
    // Both regions have dialed: one of the two links closes, and nothing is wrong.
    if (code === 'duplicate') return;
    this.count(code);
    const region = link.acquaintance.expectedRegion ?? link.region;
    const record = this.recordOf(region);
    record.refusals++;
    record.trouble = message;
    record.isRefused = true;
    const { address } = link.acquaintance;
    const words = by === 'here' ? 'refused to replicate with a region' : 'a region refuses to replicate with this one';
    this.warn(region, `${code} ${by}`, { address, code, reason: message }, `${words}: ${message}`);
  }

  private silent(link: Link): void {
    const record = this.recordOf(link.region);
    record.trouble = 'it has stopped answering';
    this.warn(link.region, 'silent', {}, 'a region has stopped answering; the link is closed and dialed again');
  }

  private skewed(link: Link): void {
    const skewMs = Math.round(link.figures.skewMs);
    const words = `the clock of region ${link.region} is ${Math.abs(skewMs)} ms ${skewMs > 0 ? 'ahead' : 'behind'}`;
    this.warn(link.region, 'skew', { skewMs }, `${words}, more than --clock-skew-bound: set the clocks`);
  }

  private ahead({ region }: Link, what: string): void {
    const message = `region ${region} sent ${what}: check the clock of ${region}, and this server's`;
    const record = this.recordOf(region);
    record.ahead = message;
    record.aheadAtMs = this.nowMs();
    this.warn(region, 'ahead', {}, `${message}; its changes are not applied as long as this lasts`);
  }

  private givenUp(member: Member): void {
    this.logger.warn(
      { peer: member.region },
      'a region was away for longer than --peer-patience; deletions are no longer kept for it, and it is repaired ' +
        'when it is back',
    );
  }

  private dialFailed({ region, host, port }: MeshPeer, error: Error): void {
    this.recordOf(region).trouble = error.message;
    this.warn(region, `dial ${error.message}`, { host, port }, `cannot reach region ${region}: ${error.message}`);
  }

  private turnedAway(code: string, message: string, address: string): void {
    this.count(code);
    const host = address.replace(/:\d+$/, '');
    this.warn(host, `turned away ${code}`, { address, code }, `a connection for replication was refused: ${message}`);
  }

  /** Logs an event of a peer, or of a host that is none; `key` names the event, whose repetitions are suppressed. */
  private warn(peer: string, key: string, fields: object, message: string): void {
    this.log.say(`${peer} ${key}`, (suppressed) => {
      this.logger.warn({ peer, ...fields, ...(suppressed > 0 && { suppressed }) }, message);
    });
  }

  private count(code: string): void {
    this.refusals[code] = (this.refusals[code] ?? 0) + 1;
  }

  private recordOf(region: string): PeerRecord {
    let record = this.records.get(region);
    if (record === undefined) {
      record = {
        figures: NO_PEER_FIGURES,
        trouble: '',
        isRefused: false,
        ahead: '',
        aheadAtMs: Number.NEGATIVE_INFINITY,
        connections: 0,
        refusals: 0,
      };
      this.records.set(region, record);
    }
    return record;
  }
}

function sum(before: PeerFigures, figures: LinkFigures): PeerFigures {
  const total: Record<string, unknown> = { ...before };
  for (const name of Object.keys(before) as (keyof PeerFigures & keyof LinkFigures)[]) {
    if (!(name in figures) || name === 'batchSizesOut') continue;
    total[name] = before[name] + figures[name];
  }
  total.batchSizesOut = figures.batchSizesOut.map((count, size) => count + (before.batchSizesOut[size] ?? 0));
  return total as unknown as PeerFigures;
}
