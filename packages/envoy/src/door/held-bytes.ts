import { GrpcStatus } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';

/** Bytes that clients make us hold in memory, and the most that all of them together may. */
export class HeldBytes {
  private readonly maximumBytes: number;
  private readonly what: string;
  private bytes = 0;

  /** `what` takes the memory, in words for the clients. */
  constructor(maximumBytes: number, what: string) {
    this.maximumBytes = maximumBytes;
    this.what = what;
  }

  /** Throws a Refusal, and holds nothing, where it would be too much. */
  hold(bytes: number): void {
    if (this.bytes + bytes > this.maximumBytes)
      throw new Refusal(GrpcStatus.resourceExhausted, `${this.what} take too much memory: try again`);
    this.bytes += bytes;
  }

  release(bytes: number): void {
    this.bytes -= bytes;
  }
}
