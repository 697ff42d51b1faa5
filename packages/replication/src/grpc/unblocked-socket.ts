import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Bytes read ahead of HTTP/2, which takes them at once. */
const READ_AHEAD_BYTES = 1024 * 1024;

/**
 * A socket on which HTTP/2 never waits for a write. Node's HTTP/2 does not read while a write of its own is under way,
 * so two replicas that both send more than the buffers between them hold would wait for each other for ever. Here a
 * write completes at once, and its bytes wait in the socket: at most what the peer's window allows. `waitingBytes`
 * counts them, so that streams stop being writable.
 */
export class UnblockedSocket extends Duplex {
  /** Written, and not taken by the operating system yet. */
  waitingBytes = 0;
  private readonly socket: Socket;
  private readonly flushedListeners = new Set<() => void>();

  constructor(socket: Socket) {
    super({ highWaterMark: READ_AHEAD_BYTES });
    this.socket = socket;
    socket.on('data', (chunk) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** `listener` is called whenever waiting bytes were taken by the system. Returns a function that unsubscribes. */
  onFlushed(listener: () => void): () => void {
    this.flushedListeners.add(listener);
    return () => this.flushedListeners.delete(listener);
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.pass(chunk);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.socket.cork();
    for (const { chunk } of chunks) this.pass(chunk);
    this.socket.uncork();
    done();
  }

  override _final(done: () => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  private pass(chunk: Buffer): void {
    this.waitingBytes += chunk.length;
    this.socket.write(chunk, () => {
      this.waitingBytes -= chunk.length;
      for (const listener of this.flushedListeners) listener();
    });
  }
}
