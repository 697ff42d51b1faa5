import { type QuotaPeers, type Reach, type RegionState, Routes } from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import type { TokensAnswer, TokensWanted } from '@quotadb/wire';
import type { PolicyEnvelope } from './policy-envelope.js';

/** What a region that is linked has said about itself. */
export interface RegionView {
  readonly link: Link;
  /** The region that it takes for the home of policies; undefined until it has said so. */
  home: string | undefined;
}

/** The regions that there is a link to, and those that can be reached through them. */
export class RegionPeers implements QuotaPeers {
  private readonly views = new Map<string, RegionView>();
  private readonly routes: Routes<Link>;

  constructor(region: string) {
    this.routes = new Routes(region);
  }

  add(link: Link): void {
    this.views.set(link.region, { link, home: undefined });
    this.routes.add(link.region, link.origin, link);
  }

  /** False where another link to the region has taken its place already. */
  remove(link: Link): boolean {
    if (this.views.get(link.region)?.link !== link) return false;
    this.views.delete(link.region);
    return this.routes.remove(link.region, link);
  }

  /** True where others can be reached, or in another way, than before. */
  hear(link: Link, { home, hasDisk, reaches }: PolicyEnvelope): boolean {
    const view = this.views.get(link.region);
    if (view === undefined) return false;
    view.home = home;
    // Passing on what is another's is a right of its own.
    return this.routes.hear(link.region, hasDisk, link.mayRelay ? reaches : []);
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

  /** What the region at the other end of a link is told about whom it reaches from here. */
  tell(link: Link): Reach[] {
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
