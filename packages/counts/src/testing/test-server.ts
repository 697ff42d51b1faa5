import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler, Sites, serveApi } from '@quotadb/http';
import { countsApi } from '../adapters/http/counts-api.js';
import type { Audience, CountsTokens } from '../adapters/http/counts-tokens.js';
import type { CountUseCases } from '../adapters/http/operations.js';

/** As much of the counts service as a server needs. */
export interface ServedCounts {
  readonly api: CountUseCases;
  readonly tokens: CountsTokens;
  readonly accelerate: (server: Server, sites: Sites) => void;
}

export interface TestServerOptions {
  readonly audiences?: readonly Audience[];
  readonly fastPath?: boolean;
  readonly onError?: (error: unknown) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form.
  readonly json: any;
}

export interface CallOptions {
  /** Sent as JSON unless it is a string, which is sent as it stands. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** The counts API on a real HTTP server, and a client for it that keeps its connections. */
export class TestServer {
  readonly server: Server;
  readonly #agent = new Agent({ keepAlive: true });

  static async start({ api, tokens, accelerate }: ServedCounts, options: TestServerOptions = {}): Promise<TestServer> {
    const { audiences = ['external', 'internal'], fastPath = true, onError = () => undefined } = options;
    const audienceOf = (role: string): Audience => (role === 'count' ? 'external' : 'internal');
    const sites = new Sites({ isOpen: () => false, isLoopbackName: () => true });
    const handle = createHandler([serveApi(countsApi(audiences), api)], {
      authenticate: ({ authorization }, [role]) => {
        const caller = tokens.callerOf(authorization, audienceOf(role!));
        if (caller !== undefined) return caller;
        return tokens.audienceOf(authorization) === undefined ? 'unauthenticated' : 'wrong_role';
      },
      sites,
      onError,
    });
    const server = createServer(handle);
    if (fastPath && audiences.includes('external')) accelerate(server, sites);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TestServer(server);
  }

  private constructor(server: Server) {
    this.server = server;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  call(method: string, path: string, { body, headers = {} }: CallOptions = {}): Promise<Answer> {
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const contentHeaders = payload === undefined ? {} : { 'content-type': 'application/json' };
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        {
          host: '127.0.0.1',
          port: this.port,
          agent: this.#agent,
          method,
          path,
          headers: { ...contentHeaders, 'content-length': Buffer.byteLength(payload ?? ''), ...headers },
        },
        (incoming) => {
          let text = '';
          incoming.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          incoming.on('error', reject);
          incoming.on('end', () => {
            const isJson = /json/.test(incoming.headers['content-type'] ?? '');
            const json = isJson ? JSON.parse(text) : undefined;
            resolve({ status: incoming.statusCode!, headers: incoming.headers, text, json });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
