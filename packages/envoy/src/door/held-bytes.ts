import { GrpcStatus } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';

/** Bytes that all calls of a door hold in memory while they wait for their clients, and the most that they may. */
export class HeldBytes {
  private readonly maximumBytes: number;
  private bytes = 0;

  constructor(maximumBytes: number) {
    this.maximumBytes = maximumBytes;
  }

  /** Throws a Refusal, and holds nothing, where it would be too much. */
  hold(bytes: number): void {
    if (this.bytes + bytes > this.maximumBytes)
      throw new Refusal(GrpcStatus.resourceExhausted, 'calls that are not whole take too much memory: try again');
    this.bytes += bytes;
  }

  release(bytes: number): void {
    this.bytes -= bytes;
  }
}
