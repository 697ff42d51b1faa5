import { Errno, type Libc } from '../transport/epoll/libc.js';
import { Interest } from '../transport/epoll/poller.js';

/**
 * A socket without a system: a test sets the bytes to read and the room to write. There is one descriptor. The lane's
 * input is a parameter, because `recv` gets an address.
 */
export class FakeSocket {
  static readonly FD = 7;

  /** Read from again and again; `readable` says how many bytes of it are left to read now. */
  source: Uint8Array = new Uint8Array(0);
  readable = 0;
  /** Bytes that the system takes before it says EAGAIN. */
  room = Number.POSITIVE_INFINITY;
  /** How the next sends fail; 0 where they do not. */
  failure = 0;
  /** The sent bytes; only kept where a test asks for them. */
  sent: Buffer[] | undefined = undefined;
  sentBytes = 0;
  /** What it is watched for, and how often that was said: after each time, events that are still true come again. */
  interest = 0;
  isEdgeTriggered = false;
  watches = 0;
  isClosed = false;
  isShutDown = false;

  private errnoNow = 0;

  libc(input: Uint8Array): Libc {
    const done = () => 0;
    const calls: Partial<Libc> = {
      close: () => {
        this.isClosed = true;
        return 0;
      },
      shutdown: () => {
        this.isShutDown = true;
        return 0;
      },
      recv: (_fd, address, length) => this.receive(input, address, length),
      send: (_fd, bytes, start, length) => this.take(bytes, start, length),
      epollCreate: () => 3,
      epollControl: (_epoll, _operation, _fd, event) => {
        const interest = new DataView(event.buffer).getInt32(0, true);
        this.interest = interest & ~Interest.edge;
        this.isEdgeTriggered = interest !== this.interest;
        this.watches++;
        return 0;
      },
      setsockopt: done,
      getpeername: () => -1,
      getsockname: () => -1,
      errno: () => this.errnoNow,
      addressOf: () => 0,
    };
    return calls as Libc;
  }

  private receive(input: Uint8Array, address: number, length: number): number {
    const count = Math.min(this.readable, length);
    if (count === 0) return this.again();
    input.set(count === this.source.length ? this.source : this.source.subarray(0, count), address);
    this.readable -= count;
    return count;
  }

  private take(bytes: Uint8Array, start: number, length: number): number {
    const count = Math.min(length, this.room);
    if (this.failure !== 0) {
      this.errnoNow = this.failure;
      return -1;
    }
    if (count === 0) return this.again();
    this.room -= count;
    this.sentBytes += count;
    this.sent?.push(Buffer.from(bytes.subarray(start, start + count)));
    return count;
  }

  private again(): number {
    this.errnoNow = Errno.again;
    return -1;
  }
}
