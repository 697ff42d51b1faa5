import { isRegion, isWhole } from './policy-set.js';

/** What a region has sent its neighbours about its policies. */
export interface HeldPolicies {
  /** Undefined where it is not known: a region between is of an earlier release. */
  readonly version?: number | undefined;
  /** Its release divides tokens among members. */
  readonly divides?: boolean | undefined;
}

/** A region that can be reached, and its incarnation. */
export interface Reach extends HeldPolicies {
  readonly region: string;
  /** In hexadecimal. */
  readonly origin: string;
  readonly hasDisk: boolean;
  /** Links on the way. */
  readonly hops: number;
}

/** Regions that are further away are not asked. It also ends the claims of two regions about a third that is gone. */
export const MAXIMUM_HOPS = 4;
const MAXIMUM_REACHES = 256;

interface Neighbour<Link> {
  readonly link: Link;
  readonly origin: string;
  hasDisk: boolean;
  held: HeldPolicies;
  reaches: readonly Reach[];
}

/**
 * Routes to regions without a link. Every region sends its neighbours the regions that it reaches and their distance,
 * except those that it reaches through the neighbour; each forwards a frame to the neighbour nearest to its
 * destination. A route that is wrong for a moment loses the frames on it, no more: they are requested again.
 */
export class Routes<Link> {
  private readonly region: string;
  private readonly neighbours = new Map<string, Neighbour<Link>>();
  private ways = new Map<string, Reach & { readonly via: string }>();

  constructor(region: string) {
    this.region = region;
  }

  /** A link, in place of any other to the same region. */
  add(region: string, origin: Uint8Array, link: Link): void {
    const name = Buffer.from(origin).toString('hex');
    this.neighbours.set(region, { link, origin: name, hasDisk: false, held: {}, reaches: [] });
    this.findWays();
  }

  /** False where another link has taken its place. */
  remove(region: string, link: Link): boolean {
    if (this.neighbours.get(region)?.link !== link) return false;
    this.neighbours.delete(region);
    this.findWays();
    return true;
  }

  /** Takes the regions that a neighbour reaches; true where the routes are others now, or in another order. */
  hear(region: string, hasDisk: boolean, reaches: readonly Reach[], held: HeldPolicies = {}): boolean {
    const neighbour = this.neighbours.get(region);
    if (neighbour === undefined) return false;
    neighbour.hasDisk = hasDisk;
    neighbour.held = { version: held.version, divides: held.divides };
    neighbour.reaches = reaches;
    return this.findWays();
  }

  /** The regions that a neighbour can reach through this one. */
  reachesFor(neighbour: string): Reach[] {
    const reaches: Reach[] = [];
    for (const { via, ...reach } of this.ways.values())
      if (via !== neighbour && reach.hops < MAXIMUM_HOPS) reaches.push(reach);
    return reaches.slice(0, MAXIMUM_REACHES);
  }

  regions(): Iterable<string> {
    return this.ways.keys();
  }

  way(region: string): Reach | undefined {
    return this.ways.get(region);
  }

  originOf(region: string): Uint8Array | undefined {
    const way = this.ways.get(region);
    return way && Uint8Array.from(Buffer.from(way.origin, 'hex'));
  }

  /** The neighbour to send to, and the link to it. */
  next(region: string): { readonly region: string; readonly link: Link } | undefined {
    const via = this.ways.get(region)?.via;
    const neighbour = via === undefined ? undefined : this.neighbours.get(via);
    return neighbour && { region: via as string, link: neighbour.link };
  }

  private findWays(): boolean {
    const ways = new Map<string, Reach & { readonly via: string }>();
    for (const [region, { origin, hasDisk, held }] of this.neighbours)
      ways.set(region, { region, origin, hasDisk, ...held, hops: 1, via: region });
    for (const [via, { reaches }] of this.neighbours) {
      for (const reach of reaches) {
        const hops = reach.hops + 1;
        const known = ways.get(reach.region);
        if (reach.region === this.region || hops > MAXIMUM_HOPS || (known !== undefined && known.hops <= hops))
          continue;
        ways.set(reach.region, { ...reach, hops, via });
      }
    }
    const isChanged = JSON.stringify([...ways]) !== JSON.stringify([...this.ways]);
    this.ways = ways;
    return isChanged;
  }
}

/**
 * The same for the same reaches in whatever order: two neighbours that took the order of each other's list for news
 * would send it back and forth for ever.
 */
export function textOfReaches(reaches: Iterable<Reach>): string {
  return JSON.stringify([...reaches].sort((one, other) => (one.region < other.region ? -1 : 1)));
}

/** Checks the reaches from a neighbour; throws where they are invalid. */
export function checkReaches(given: unknown): readonly Reach[] {
  if (given === undefined) return [];
  const isReach = ({ region, origin, hasDisk, hops, version = 0, divides = false }: Reach) =>
    isRegion(region) &&
    /^[0-9a-f]{64}$/.test(origin) &&
    typeof hasDisk === 'boolean' &&
    isWhole(hops, 1, MAXIMUM_HOPS) &&
    isWhole(version, 0, Number.MAX_SAFE_INTEGER) &&
    typeof divides === 'boolean';
  if (!Array.isArray(given) || given.length > MAXIMUM_REACHES || !given.every(isReach))
    throw new Error('the neighbour sent an invalid list of the regions that it reaches');
  // These fields and no others are passed on.
  return (given as readonly Reach[]).map(({ region, origin, hasDisk, hops, version, divides }) => {
    return { region, origin, hasDisk, hops, version, divides };
  });
}
