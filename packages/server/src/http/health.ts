import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { CountsEndpoint } from '@quotadb/counts';
import type { KeysEndpoint } from './keys.js';
import type { QuotasEndpoint } from './quotas/endpoint.js';

export interface HealthAnswers {
  /** Whether clients are being served; false while starting and stopping. */
  readonly isReady: () => boolean;
  /** What `/` tells about this server. */
  readonly describe: () => object;
}

/** An HTTP port as far as it goes today: the counts API, reading counters, quotas, and is it alive, is it ready, who is it. */
export class HealthServer {
  private readonly server: Server;
  private readonly answers: HealthAnswers;

  constructor(answers: HealthAnswers, counts: CountsEndpoint, keys?: KeysEndpoint, quotas?: QuotasEndpoint) {
    this.answers = answers;
    this.server = createServer((request, response) => {
      if (counts.handle(request, response)) return;
      if (keys?.handle(request, response) || quotas?.handle(request, response)) return;
      this.answer(request, response);
    });
    counts.accelerate(this.server);
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.removeListener('error', reject);
        const address = this.server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, { error: 'only GET is served here' });
      return;
    }
    switch (request.url?.split('?')[0]) {
      case '/':
        send(response, 200, this.answers.describe());
        break;
      case '/healthz':
        send(response, 200, { alive: true });
        break;
      case '/readyz': {
        const ready = this.answers.isReady();
        send(response, ready ? 200 : 503, { ready });
        break;
      }
      default:
        send(response, 404, { error: 'no such path' });
    }
  }
}

export function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}
