import type { Lane } from '../../session/lane.js';
import type { Connection } from '../connection.js';

/**
 * The replies that leave together, once all connections with input have had their turns: one behind the other at the
 * beginning of the lane's reply.
 *
 * A client that waits for replies sleeps, and the send that wakes it interrupts another processor: some microseconds of
 * the sender's time, on a virtual machine more than the rest of a send. Sends while it is awake are spared that. So
 * replies do not leave one by one between turns, in which the client would fall asleep again.
 */
export class Outbox {
  /** As many bytes leave before the turns of further connections. */
  static readonly FULL_BYTES = 32 * 1024;

  private readonly lane: Lane;
  private count = 0;
  private readonly connections: (Connection | undefined)[] = [];
  /** Where the replies of each connection end; they begin where those before them end. */
  private readonly ends: number[] = [];
  /** Where those of the first one begin. */
  private start = 0;

  constructor(lane: Lane) {
    this.lane = lane;
  }

  /** The connection has had its turn: its replies are those from `repliesFrom` on. */
  take(connection: Connection): void {
    const { lane, count } = this;
    const { length } = lane.reply;
    if (count === 0) this.start = lane.repliesFrom;
    this.connections[count] = connection;
    this.ends[count] = length;
    this.count = count + 1;
    lane.repliesFrom = length;
    if (length >= Outbox.FULL_BYTES) this.send();
  }

  /** Also in the middle of a turn, by a script that runs for long: what it has written stays. */
  send(): void {
    const { lane, connections, ends, count } = this;
    if (count === 0) return;
    this.count = 0;
    let { start } = this;
    for (let index = 0; index < count; index++) {
      const connection = connections[index] as Connection;
      connections[index] = undefined;
      connection.sendReplies(start, ends[index]);
      start = ends[index];
    }
    if (lane.reply.length > start) return;
    lane.reply.reset();
    lane.repliesFrom = 0;
  }
}
