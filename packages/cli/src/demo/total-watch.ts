import { RespClient } from '../client/resp-client.js';
import type { DemoServer } from './region.js';
import { TOTAL_KEY } from './requests.js';

const INTERVAL_MS = 100;
export const UNKNOWN_TOTAL = '–';

/** What a region takes for the number of all requests, whether or not its clients send any. */
export class TotalWatch {
  value = UNKNOWN_TOTAL;
  private readonly server: DemoServer;
  private readonly timer: NodeJS.Timeout;
  private client: RespClient | undefined = undefined;
  private port = 0;
  private isBusy = false;

  constructor(server: DemoServer) {
    this.server = server;
    this.timer = setInterval(() => void this.look(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.client?.close();
  }

  private async look(): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      const port = this.server.ports?.resp;
      if (port !== this.port) this.client?.close();
      if (port === undefined) this.client = undefined;
      else if (port !== this.port || this.client === undefined)
        this.client = await RespClient.open({ host: '127.0.0.1', port });
      this.port = port ?? 0;
      this.value = (await this.client?.text('GET', TOTAL_KEY)) ?? UNKNOWN_TOTAL;
    } catch {
      this.client?.close();
      this.client = undefined;
      this.value = UNKNOWN_TOTAL;
    } finally {
      this.isBusy = false;
    }
  }
}
