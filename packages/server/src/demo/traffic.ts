import { RespClient } from '../cli/client/resp-client.js';
import type { DemoServer } from './region.js';

const CUSTOMERS = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark', 'wayne', 'tyrell'];
const TICK_MS = 50;
/** All requests of all regions are counted under this key. */
export const TOTAL_KEY = 'requests:all';
const WINDOW_MS = 60_000;
const RATE_LIMIT = 600;

/**
 * The clients of one region: so many requests a second, some customers more than others. Each request is counted, for its
 * customer and in all, and asks a rate limit that holds for all regions together.
 */
export class Traffic {
  requestsPerSecond: number;
  /** What was measured in the last second. */
  measured = 0;
  total = '–';
  private readonly server: DemoServer;
  private client: RespClient | undefined = undefined;
  private port = 0;
  private owed = 0;
  private done = 0;
  private readonly timer: NodeJS.Timeout;
  private readonly meter: NodeJS.Timeout;
  private isBusy = false;

  constructor(server: DemoServer, requestsPerSecond: number) {
    this.server = server;
    this.requestsPerSecond = requestsPerSecond;
    this.timer = setInterval(() => void this.tick(), TICK_MS);
    this.meter = setInterval(() => {
      this.measured = this.done;
      this.done = 0;
    }, 1000);
  }

  stop(): void {
    clearInterval(this.timer);
    clearInterval(this.meter);
    this.client?.close();
  }

  private async tick(): Promise<void> {
    this.owed = Math.min(this.owed + (this.requestsPerSecond * TICK_MS) / 1000, this.requestsPerSecond);
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      const client = await this.connect();
      if (client === undefined) {
        this.owed = 0;
        this.total = '–';
        return;
      }
      const requests = Math.floor(this.owed);
      this.owed -= requests;
      const replies = Array.from({ length: requests }, () => this.request(client));
      await Promise.all(replies);
      this.done += requests;
      this.total = await client.text('GET', TOTAL_KEY);
    } catch {
      // It was killed: the next tick finds out whether it is back.
      this.client?.close();
      this.client = undefined;
    } finally {
      this.isBusy = false;
    }
  }

  private async connect(): Promise<RespClient | undefined> {
    const port = this.server.ports?.resp;
    if (port === undefined) return undefined;
    if (this.client !== undefined && this.port === port) return this.client;
    this.client?.close();
    this.client = await RespClient.open({ host: '127.0.0.1', port });
    this.port = port;
    return this.client;
  }

  private async request(client: RespClient): Promise<void> {
    // The first customers are the busiest.
    const customer = CUSTOMERS[Math.floor(Math.random() ** 2 * CUSTOMERS.length)];
    const minute = new Date().toISOString().slice(0, 16).replace(/\D/g, '');
    await Promise.all([
      client.call('INCR', TOTAL_KEY),
      client.call('INCRBYEX', `requests:${customer}:${minute}`, '1', '3600'),
      client.call('RATE.LIMIT', `api:${customer}`, String(RATE_LIMIT), String(WINDOW_MS), '1'),
    ]);
  }
}
