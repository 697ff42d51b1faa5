import type { RespClient } from '../client/resp-client.js';
import type { DemoServer } from './demo-server.js';
import { RegionClient } from './region-client.js';
import type { Request } from './requests.js';

const TICK_MS = 50;

/** Clients of one region, which send a set number of requests a second while the region runs. */
export class Traffic {
  requestsPerSecond: number;
  /** The outcomes of the last whole second. */
  measured = { allowed: 0, denied: 0 };
  private readonly request: Request;
  private readonly client: RegionClient;
  private readonly meter: NodeJS.Timeout;
  private now = { allowed: 0, denied: 0 };
  private tickedAtMs = performance.now();
  /** Requests that are due, with the fraction of the next one. */
  private due = 0;

  constructor(server: DemoServer, requestsPerSecond: number, request: Request) {
    this.requestsPerSecond = requestsPerSecond;
    this.request = request;
    this.client = new RegionClient(server, TICK_MS, (client) => this.send(client));
    this.meter = setInterval(() => {
      this.measured = this.now;
      this.now = { allowed: 0, denied: 0 };
    }, 1000);
  }

  stop(): void {
    this.client.stop();
    clearInterval(this.meter);
  }

  /** Sends the requests that are due since the last tick, at most those of a second. */
  private async send(client: RespClient | undefined): Promise<void> {
    const nowMs = performance.now();
    const fresh = ((nowMs - this.tickedAtMs) * this.requestsPerSecond) / 1000;
    const due = Math.min(this.due + fresh, this.requestsPerSecond);
    const requests = Math.floor(due);
    this.due = due - requests;
    this.tickedAtMs = nowMs;
    if (client === undefined) return;
    const outcomes = await Promise.all(Array.from({ length: requests }, () => this.request(client)));
    for (const isAllowed of outcomes) this.now[isAllowed ? 'allowed' : 'denied']++;
  }
}
