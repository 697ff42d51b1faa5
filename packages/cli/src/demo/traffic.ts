import { RespClient } from '../client/resp-client.js';
import type { DemoServer } from './region.js';
import type { Request } from './requests.js';

const TICK_MS = 50;

/** Clients of one region on a connection of their own: so many requests a second, as long as it is there. */
export class Traffic {
  requestsPerSecond: number;
  /** What was measured in the last second. */
  measured = { allowed: 0, denied: 0 };
  private readonly server: DemoServer;
  private readonly request: Request;
  private client: RespClient | undefined = undefined;
  private port = 0;
  private owed = 0;
  private now = { allowed: 0, denied: 0 };
  private readonly timer: NodeJS.Timeout;
  private readonly meter: NodeJS.Timeout;
  private isBusy = false;

  constructor(server: DemoServer, requestsPerSecond: number, request: Request) {
    this.server = server;
    this.requestsPerSecond = requestsPerSecond;
    this.request = request;
    this.timer = setInterval(() => void this.tick(), TICK_MS);
    this.meter = setInterval(() => {
      this.measured = this.now;
      this.now = { allowed: 0, denied: 0 };
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
      const requests = Math.floor(this.owed);
      this.owed -= requests;
      if (client === undefined) return;
      const outcomes = await Promise.all(Array.from({ length: requests }, () => this.request(client)));
      for (const isAllowed of outcomes) this.now[isAllowed ? 'allowed' : 'denied']++;
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
}
