import type { Acknowledgements, Engine } from '@quotadb/engine';
import type { QuotaFrame } from '@quotadb/wire';
import type { RefusalReason } from './handshake.js';
import type { ReplicaIdentity } from './identity.js';
import type { Link } from './link.js';
import type { Member } from './member.js';
import type { OldCopyProof, Start } from './own-starts.js';
import type { ProtocolRange } from './protocol-versions.js';
import type { ReplicationSettings } from './settings.js';

export interface ReplicaClock {
  /** Never set back; for intervals. */
  monotonicMs(): number;
  /** What the machine's clock shows, comparable with the clocks of other replicas. */
  wallMs(): number;
  /** The time of this replica, which need not follow a clock that jumps. */
  nowMs(): number;
}

export interface ReplicaEvents {
  established(link: Link): void;
  closed(link: Link): void;
  /** This side has refused the link, or the peer has. */
  refused(link: Link, reason: RefusalReason, by: 'here' | 'there'): void;
  silent(link: Link): void;
  /** The clocks of the two differ by more than the bound. */
  skewed(link: Link): void;
  outOfMemory(link: Link): void;
  /** Changes that came over this link are not applied: there is no room for their origin. */
  originRefused(link: Link, reason: string): void;
  /** A frame holds a number dated too far ahead, and was not applied; `what` describes the number. */
  ahead(link: Link, what: string): void;
  /** A member has reported its watermarks. */
  seen(link: Link): void;
  /** Two replicas hold different components at the same watermark. */
  mismatch(link: Link, origin: string, shard: number): void;
  /** They hold the same again, `tookMs` after the difference was found. */
  repaired(link: Link, origin: string, shard: number, tookMs: number): void;
  /** A defect in the program, met while one link was served; that link is closed. */
  fault(link: Link, error: unknown): void;
  quota(link: Link, frame: QuotaFrame): void;
  /** A peer has shown that this node's data is an old copy: it has no links until it is started anew. */
  oldCopy(link: Link, proof: OldCopyProof): void;
  /** A member was away for so long that garbage collection does not wait for it any more. */
  givenUp(member: Member): void;
}

export interface ReplicaOptions {
  readonly engine: Engine;
  readonly identity: ReplicaIdentity;
  readonly clock: ReplicaClock;
  readonly acknowledgements: Acknowledgements;
  /** Up to which of the own changes the own disk holds everything; undefined where there is no disk. */
  readonly durable?: (shard: number) => number;
  /** The same for another origin's changes, by its index: a crash may take back what the own disk does not hold. */
  readonly durableOf?: (shard: number, origin: number) => number;
  /** The starts of this incarnation from its disk, the present one last: see OwnStarts. */
  readonly starts?: readonly Start[];
  /** Notes on disk that changes since a start may be sent; false where that fails, and it is tried again. */
  readonly release?: () => boolean;
  readonly settings?: Partial<ReplicationSettings>;
  /** Drawn at random for this process, below 2^53: see Hello.boot. */
  readonly boot?: number;
  /** For tests of clusters with several releases. */
  readonly protocols?: ProtocolRange;
  readonly events?: Partial<ReplicaEvents>;
}
