/** The state of the demo, as its page reads it. */
export interface DemoState {
  /** Asked for, of each kind, in each region. */
  readonly requestsPerSecond: number;
  /** The quota that is being drained, and whose. */
  readonly quota: { readonly name: string; readonly subject: string };
  readonly regions: readonly DemoRegion[];
  readonly links: readonly DemoLink[];
}

export interface DemoRegion {
  readonly name: string;
  readonly isRunning: boolean;
  /** Requests that asked a rate limit, a second. */
  readonly calls: Outcomes;
  /** Takes from the quota, a second. */
  readonly emails: Outcomes;
  /** Of all requests of all regions, as this region knows it. */
  readonly total: string;
}

export interface Outcomes {
  readonly allowed: number;
  readonly denied: number;
}

export interface DemoLink {
  readonly from: string;
  readonly to: string;
  readonly isCut: boolean;
}
