import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it reached the upstream. */
interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** For tests: an upstream whose answers a test writes, and which knows what it was asked and how many at once. */
export class ModelUpstream {
  readonly received: Received[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  /** Requests whose caller broke off. */
  broken = 0;
  answer: (response: ServerResponse, received: Received) => void | Promise<void> = (response) => {
    sendJson(response, { choices: [], usage: { prompt_tokens: 10, completion_tokens: 20 } });
  };
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.atOnce++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    response.once('close', () => {
      this.atOnce--;
      if (!response.writableFinished) this.broken++;
    });
    const text = Buffer.concat(await request.toArray()).toString();
    const received = { headers: request.headers, body: text === '' ? {} : JSON.parse(text) };
    this.received.push(received);
    await this.answer(response, received);
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
}

export function sendPiece(response: ServerResponse, piece: unknown): void {
  response.write(`data: ${JSON.stringify(piece)}\n\n`);
}

export const word = (content: string) => ({ choices: [{ index: 0, delta: { content } }], usage: null });
export const reported = (prompt: number, completion: number) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});
