/** What all connections of this process share. */
export interface ServerState {
  /** Milliseconds since 1970; the only clock that commands may look at. */
  readonly now: () => number;
}
