import { Errno, type Libc } from '../transport/epoll/libc.js';

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
  /** The sent bytes; only kept where a test asks for them. */
  sent: Buffer[] | undefined = undefined;
  sentBytes = 0;
  interest = 0;
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
      send: (_fd, bytes, length) => this.take(bytes, length),
      epollCreate: () => 3,
      epollControl: (_epoll, _operation, _fd, event) => {
        this.interest = new DataView(event.buffer).getInt32(0, true);
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

  private take(bytes: Uint8Array, length: number): number {
    const count = Math.min(length, this.room);
    if (count === 0) return this.again();
    this.room -= count;
    this.sentBytes += count;
    this.sent?.push(Buffer.from(bytes.subarray(0, count)));
    return count;
  }

  private again(): number {
    this.errnoNow = Errno.again;
    return -1;
  }
}
