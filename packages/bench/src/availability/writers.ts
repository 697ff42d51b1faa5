import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from 'ioredis';

/** Writes of each client after a kill: enough to have met the slots of the killed server. */
const WRITES_AFTER_KILL = 200;
const POLL_MS = 20;
const KEYS_AT_ONCE = 2000;

interface Writer {
  readonly client: Cluster;
  acknowledgedAtMs: number;
  longestGapMs: number;
  writes: number;
}

/** How long clients were without a successful write around a kill. */
export interface Gaps {
  readonly longestMs: number;
  readonly medianMs: number;
}

/**
 * Ordinary cluster clients (ioredis with its own settings), each of which writes one key after another, waiting for
 * every reply. No key is written twice but by the client's own repetitions, so a key that is missing in the end is an
 * acknowledged write that was lost.
 */
export class Writers {
  failed = 0;
  private readonly writers: Writer[];
  private readonly reader: Cluster;
  private acknowledged: string[] = [];
  private isOver = false;
  private running: Promise<unknown> = Promise.resolve();
  private prefix = '';

  private constructor(clients: readonly Cluster[], reader: Cluster) {
    this.writers = clients.map((client) => ({ client, acknowledgedAtMs: 0, longestGapMs: 0, writes: 0 }));
    this.reader = reader;
  }

  static async connect(ports: readonly number[], clients: number): Promise<Writers> {
    // The library is installed for development only.
    const { Cluster } = await import('ioredis');
    const connect = () => {
      const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })));
      // Every error is also one of a command.
      client.on('error', () => {});
      return client;
    };
    return new Writers(Array.from({ length: clients }, connect), connect());
  }

  /** Begins to write, under names that no other round has; resolves when every client has written some. */
  async begin(round: number): Promise<void> {
    this.prefix = `round:${round}`;
    this.acknowledged = [];
    this.isOver = false;
    for (const writer of this.writers) Object.assign(writer, { writes: 0, acknowledgedAtMs: performance.now() });
    this.running = Promise.all(this.writers.map((writer, index) => this.write(writer, index)));
    await this.haveWritten(WRITES_AFTER_KILL);
    for (const writer of this.writers) writer.longestGapMs = 0;
  }

  /** Waits until all go on after a kill, and ends this round. */
  async end(): Promise<Gaps> {
    for (const writer of this.writers) writer.writes = 0;
    await this.haveWritten(WRITES_AFTER_KILL);
    this.isOver = true;
    await this.running;
    const gaps = this.writers.map(({ longestGapMs }) => longestGapMs).sort((one, other) => one - other);
    return { longestMs: gaps.at(-1) ?? 0, medianMs: gaps[gaps.length >> 1] ?? 0 };
  }

  get acknowledgedCount(): number {
    return this.acknowledged.length;
  }

  /** The acknowledged writes of this round that are not there. */
  async countLost(): Promise<number> {
    let found = 0;
    for (let at = 0; at < this.acknowledged.length; at += KEYS_AT_ONCE) {
      const keys = this.acknowledged.slice(at, at + KEYS_AT_ONCE);
      const exist = await Promise.all(keys.map((key) => this.reader.exists(key)));
      found += exist.reduce((sum, one) => sum + one, 0);
    }
    return this.acknowledged.length - found;
  }

  close(): void {
    for (const { client } of this.writers) client.disconnect();
    this.reader.disconnect();
  }

  private async write(writer: Writer, index: number): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      const key = `${this.prefix}:${index}:${count}`;
      try {
        await writer.client.set(key, count);
        this.acknowledged.push(key);
        const nowMs = performance.now();
        writer.longestGapMs = Math.max(writer.longestGapMs, nowMs - writer.acknowledgedAtMs);
        writer.acknowledgedAtMs = nowMs;
        writer.writes++;
      } catch {
        this.failed++;
        await delay(1);
      }
    }
  }

  private async haveWritten(count: number): Promise<void> {
    while (this.writers.some(({ writes }) => writes < count)) await delay(POLL_MS);
  }
}
