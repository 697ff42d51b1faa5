import {
  type HeldPolicies,
  type PolicyEnvelope,
  type QuotaPeers,
  type Reach,
  type RegionState,
  Routes,
} from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import type { TokensAnswer, TokensWanted } from '@quotadb/wire';

/** A region with a link to this one. */
export interface RegionView {
  readonly link: Link;
  /** The region that it takes for the home of policies; undefined before its first policies. */
  home: string | undefined;
  /** Of the policies that it holds; undefined before its first ones. */
  version: number | undefined;
  divides: boolean;
}

/** The regions with a link to this one, and those that can be reached through them. */
export class RegionPeers implements QuotaPeers {
  private readonly views = new Map<string, RegionView>();
  private readonly routes: Routes<Link>;

  constructor(region: string) {
    this.routes = new Routes(region);
  }

  add(link: Link): void {
    this.views.set(link.region, { link, home: undefined, version: undefined, divides: false });
    this.routes.add(link.region, link.origin, link);
  }

  /** False where another link to the region has taken its place already. */
  remove(link: Link): boolean {
    if (this.views.get(link.region)?.link !== link) return false;
    this.views.delete(link.region);
    return this.routes.remove(link.region, link);
  }

  /** True where the set of reachable regions, or a way to one, has changed. */
  receive(link: Link, { home, hasDisk, set, reaches, divides }: PolicyEnvelope): boolean {
    const view = this.views.get(link.region);
    if (view === undefined) return false;
    view.home = home;
    view.version = set?.version ?? 0;
    view.divides = divides === true;
    return this.routes.hear(link.region, hasDisk, reaches, view);
  }

  /** What a region holds of the policies, as it says itself or those between say; undefined where none reaches it. */
  held(region: string): HeldPolicies | undefined {
    return this.routes.way(region);
  }

  all(): Iterable<RegionView> {
    return this.views.values();
  }

  regions(): Iterable<string> {
    return this.routes.regions();
  }

  originOf(region: string): Uint8Array | undefined {
    return this.routes.originOf(region);
  }

  stateOf(region: string): RegionState | undefined {
    const way = this.routes.way(region);
    return way && { incarnation: way.origin, hasDisk: way.hasDisk };
  }

  /** The regions that the other end of a link can reach through this one. */
  reachesFor(link: Link): Reach[] {
    return this.routes.reachesFor(link.region);
  }

  /** The link to a region, or to the one that passes on to it. */
  next(region: string): Link | undefined {
    return this.routes.next(region)?.link;
  }

  send(region: string, frame: TokensWanted | TokensAnswer): void {
    this.next(region)?.send(frame);
  }
}
