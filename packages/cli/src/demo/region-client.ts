import { RespClient } from '../client/resp-client.js';
import type { DemoServer } from './demo-server.js';

/** A connection to a region of the demo, used at an interval and opened anew after the region was killed. */
export class RegionClient {
  private readonly server: DemoServer;
  private readonly timer: NodeJS.Timeout;
  private client: RespClient | undefined = undefined;
  private port: number | undefined = undefined;
  private isBusy = false;

  /** `use` is called once per interval, unless the last call still runs; without a client while the region is down. */
  constructor(server: DemoServer, intervalMs: number, use: (client: RespClient | undefined) => Promise<void>) {
    this.server = server;
    this.timer = setInterval(() => void this.run(use), intervalMs);
  }

  stop(): void {
    clearInterval(this.timer);
    this.client?.close();
  }

  private async run(use: (client: RespClient | undefined) => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      await use(await this.connect());
    } catch {
      this.client?.close();
      this.client = undefined;
      await use(undefined);
    } finally {
      this.isBusy = false;
    }
  }

  private async connect(): Promise<RespClient | undefined> {
    const port = this.server.ports?.resp;
    if (port === this.port && this.client !== undefined) return this.client;
    this.client?.close();
    this.client = port === undefined ? undefined : await RespClient.open({ host: '127.0.0.1', port });
    this.port = port;
    return this.client;
  }
}
