import { isSameReplica, replicaIdOf } from '@quotadb/replication';
import { FrameKind, type Policies, type TokensAnswer, type TokensWanted } from '@quotadb/wire';
import { MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import type { PolicyBook } from '../home/policy-book.js';
import { isWindowOf, MAXIMUM_LIMIT } from '../policies/policy.js';
import { type PolicyEnvelope, readEnvelope } from '../policies/policy-envelope.js';
import { isRegion, isWhole, MAXIMUM_VERSION_AHEAD_MS, type PolicySet } from '../policies/policy-set.js';
import { MAXIMUM_HOPS } from '../policies/routes.js';
import { type Seal, type Seals, textOfSet } from '../policies/seals.js';

/** The peer that a frame came from, as the handshake of its link has proved it. */
export interface Sender {
  readonly region: string;
  readonly origin: Uint8Array;
  readonly mayRelay: boolean;
}

export interface FrameGateOptions {
  readonly region: string;
  readonly book: PolicyBook;
  /** Undefined where replication has no certificates: then a region is whatever it says it is. */
  readonly seals: () => Seals | undefined;
  readonly cluster: string;
}

export type TokenFrame = TokensWanted | TokensAnswer;

/**
 * Every frame about quotas passes here before anything is done with it. A fault is the reason why a frame is refused:
 * it then changes nothing, and its link stays.
 *
 *   frame         | may be sent by                      | is refused unless
 *   --------------|-------------------------------------|----------------------------------------------------------
 *   policies      | any neighbour                       | every field is within its bounds (readEnvelope)
 *   … its set     | the home; with certificates anybody | the version is at most a day ahead of the own clock; with
 *                 | who has it with the home's seal     | certificates: the home's own link, or its seal; without: this
 *                 |                                     | is not the home, or the home has written none since it began
 *   … its reaches | a relay                             | origins are incarnations of the regions that they stand for
 *   tokensWanted  | the region that asks, or a relay    | the origin is the incarnation at the other end of the link
 *                 |                                     | (through a relay: one of that region); need, subject and hops
 *                 |                                     | are within their bounds; the window is one by the rules here
 *   tokensAnswer  | the region that answers, or a relay | the same. It moves no tokens: a grant is a counter
 *
 * Forwarded requests and their answers are checked where they are read (`forwarded-requests.ts` of the server).
 */
export class FrameGate {
  private readonly options: FrameGateOptions;

  constructor(options: FrameGateOptions) {
    this.options = options;
  }

  /** Throws for an envelope that is refused. The reaches of a region that may not relay are left out. */
  openEnvelope({ mayRelay }: Sender, frame: Policies): PolicyEnvelope {
    const envelope = readEnvelope(frame);
    const reaches = mayRelay ? envelope.reaches : [];
    for (const { region, origin } of reaches)
      if (!this.isOriginOf(Buffer.from(origin, 'hex'), region))
        throw new Error(`the origin ${origin} is no incarnation of region ${region}`);
    return { ...envelope, reaches };
  }

  /** Why a set that is news is not taken over; undefined where it may be. */
  findSetFault({ region }: Sender, set: PolicySet, seal: Seal | undefined, nowMs: number): string | undefined {
    const { book } = this.options;
    const seals = this.options.seals();
    if (set.version > nowMs + MAXIMUM_VERSION_AHEAD_MS)
      return `their version ${set.version} is more than a day ahead of the clock`;
    try {
      book.checkCatalogue(set.catalogue);
    } catch (error) {
      return `their catalogue of limits cannot be read: ${(error as Error).message}`;
    }
    if (seals === undefined)
      return book.isHome && book.isOwn ? 'this region is their home, and has not written them' : undefined;
    if (region === book.home) return undefined;
    if (seal === undefined) return `they do not have the seal of region ${book.home}, their home`;
    return seals.findFault(textOfSet(set), seal, book.home);
  }

  findTokenFault(sender: Sender, frame: TokenFrame): string | undefined {
    const { fromRegion, toRegion, origin, window, subject, hops } = frame;
    if (!isRegion(fromRegion) || !isRegion(toRegion)) return 'it names no region that it is from or to';
    if (fromRegion === this.options.region) return 'it claims to be from this region';
    if (fromRegion !== sender.region && !sender.mayRelay)
      return `it is from region ${fromRegion}, and the certificate of ${sender.region} does not say relay`;
    if (!isWhole(hops, 0, MAXIMUM_HOPS)) return `it has crossed ${hops} links`;
    if (!Number.isSafeInteger(window) || !this.isWindow(frame)) return `it is for the window ${window}`;
    if (subject.length > MAXIMUM_SUBJECT_BYTES) return `its subject has ${subject.length} bytes`;
    const amount = frame.kind === FrameKind.tokensWanted ? frame.need : frame.granted;
    if (!isWhole(amount, 0, MAXIMUM_LIMIT)) return `it is about ${amount} tokens`;
    const asking = frame.kind === FrameKind.tokensWanted ? fromRegion : toRegion;
    if (!this.isOriginOf(origin, asking)) return `its origin is no incarnation of region ${asking}`;
    const isDirect = frame.kind === FrameKind.tokensWanted && fromRegion === sender.region;
    if (isDirect && Buffer.compare(origin, sender.origin) !== 0)
      return `it wants tokens for another incarnation of region ${fromRegion} than the one that sent it`;
    return undefined;
  }

  /** A region with other time zone rules makes windows that are none here: it is granted nothing of them. */
  private isWindow({ kind, toRegion, policy: number, window }: TokenFrame): boolean {
    const policy = kind === FrameKind.tokensWanted ? this.options.book.numbered(number) : undefined;
    return policy === undefined || toRegion !== this.options.region || isWindowOf(policy, window);
  }

  /** Whether an origin is an incarnation of a region. */
  private isOriginOf(origin: Uint8Array, region: string): boolean {
    return isSameReplica(origin, replicaIdOf(this.options.cluster, region));
  }
}
