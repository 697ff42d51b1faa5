/** What carries bytes between clients and sessions. */
export interface Transport {
  /** As the ready line names it. */
  readonly name: string;
  /** Starts accepting; resolves to the port, which differs from the one asked for only where that was 0. */
  listen(host: string, port: number): Promise<number>;
  /** Stops accepting, answers everything that was read, sends the replies and closes; never takes much longer than this. */
  close(withinMs: number): Promise<void>;
  /** Looks after connections that do nothing by themselves: idle ones, and those that do not read. Called now and then. */
  sweep(nowMs: number): void;
}
