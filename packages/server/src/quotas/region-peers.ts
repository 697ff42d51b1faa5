import type { QuotaPeers } from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import type { TokensAnswer, TokensWanted } from '@quotadb/wire';

/** What a region that is linked has said about itself. */
export interface RegionView {
  readonly link: Link;
  /** The region that it takes for the home of policies; undefined until it has said so. */
  home: string | undefined;
  hasDisk: boolean;
}

/** The regions that there is a link to. */
export class RegionPeers implements QuotaPeers {
  private readonly views = new Map<string, RegionView>();

  add(link: Link): void {
    this.views.set(link.region, { link, home: undefined, hasDisk: false });
  }

  /** False where another link to the region has taken its place already. */
  remove(link: Link): boolean {
    return this.views.get(link.region)?.link === link && this.views.delete(link.region);
  }

  get(region: string): RegionView | undefined {
    return this.views.get(region);
  }

  all(): Iterable<RegionView> {
    return this.views.values();
  }

  regions(): Iterable<string> {
    return this.views.keys();
  }

  originOf(region: string): Uint8Array | undefined {
    return this.views.get(region)?.link.origin;
  }

  send(region: string, frame: TokensWanted | TokensAnswer): void {
    this.views.get(region)?.link.send(frame);
  }
}
