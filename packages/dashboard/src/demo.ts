/** What the demo tells its page. */
export interface DemoState {
  readonly requestsPerSecond: number;
  readonly regions: readonly DemoRegion[];
  readonly links: readonly DemoLink[];
}

export interface DemoRegion {
  readonly name: string;
  readonly isRunning: boolean;
  readonly requestsPerSecond: number;
  /** Of all requests of all regions, as this region knows it. */
  readonly total: string;
}

export interface DemoLink {
  readonly from: string;
  readonly to: string;
  readonly isCut: boolean;
}
