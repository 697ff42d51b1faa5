/** What carries bytes between clients and sessions. */
export interface Transport {
  /** As the ready line names it. */
  readonly name: string;
  /** Threads that serve clients. */
  readonly laneCount: number;
  /** Starts accepting; resolves to the port, which differs from the one asked for only where that was 0. */
  listen(host: string, port: number): Promise<number>;
  /** Another thread is about to use the store; resolves when every lane takes locks. */
  share(): Promise<void>;
  /** Stops accepting, answers everything that was read, sends the replies and closes; never takes much longer than this. */
  close(withinMs: number): Promise<void>;
}
