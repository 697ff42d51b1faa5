import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DemoState } from '@quotadb/dashboard';
import { sendPage } from '../dashboard/send-page.js';
import { send } from '../http/health.js';

/** What the page can do to the demo. */
export interface DemoControls {
  readonly regions: readonly string[];
  httpPortOf(region: string): number | undefined;
  state(): DemoState;
  /** Throws an Error that says what is wrong with what is asked. */
  act(what: string, body: Readonly<Record<string, unknown>>): Promise<void>;
}

const REGION = /^\/regions\/([^/]+)(\/.*)$/;
const PAGE = /^\/dashboard\/(.*)$/;
const ACTION = /^\/demo\/(cut|heal|kill|start|traffic)$/;
const MAXIMUM_BODY_BYTES = 4096;

/** The demo's own port, on this machine only: the dashboard's page, every region behind it, and the controls. */
export class DemoHttp {
  private readonly controls: DemoControls;
  private readonly server: Server;

  constructor(controls: DemoControls) {
    this.controls = controls;
    this.server = createServer((incoming, response) => this.answer(incoming, response));
  }

  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, '127.0.0.1', resolve);
    });
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(incoming: IncomingMessage, response: ServerResponse): void {
    const url = incoming.url ?? '/';
    const region = REGION.exec(url);
    const page = PAGE.exec(url);
    const action = ACTION.exec(url);
    if (url === '/' || url === '/dashboard') response.writeHead(302, { location: '/dashboard/' }).end();
    else if (page !== null) sendPage(response, page[1]);
    else if (url === '/api/v1/dashboard/sources') this.sendSources(response);
    else if (url === '/demo/state') send(response, 200, this.controls.state());
    else if (region !== null) this.pass(incoming, response, region[1], region[2]);
    else if (action !== null && incoming.method === 'POST') void this.act(incoming, response, action[1]);
    else send(response, 404, { error: 'no such path' });
  }

  private sendSources(response: ServerResponse): void {
    const sources = this.controls.regions.map((region) => ({ region, base: `/regions/${region}` }));
    send(response, 200, { sources, isDemo: true });
  }

  private pass(incoming: IncomingMessage, response: ServerResponse, region: string, path: string): void {
    const port = this.controls.httpPortOf(region);
    if (port === undefined || incoming.method !== 'GET') {
      send(response, 503, { error: `region ${region} is not running` });
      return;
    }
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'GET' }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    outgoing.on('error', () => {
      if (response.headersSent) response.destroy();
      else send(response, 502, { error: `region ${region} does not answer` });
    });
    response.on('close', () => outgoing.destroy());
    outgoing.end();
  }

  private async act(incoming: IncomingMessage, response: ServerResponse, what: string): Promise<void> {
    // Another site can make a browser send a form, but not JSON, and not from this origin.
    const { origin, host } = incoming.headers;
    const isOwn = origin === undefined || origin === `http://${host}`;
    if (!isOwn || incoming.headers['content-type'] !== 'application/json') {
      send(response, 403, { error: 'only the page of the demo may do this' });
      return;
    }
    try {
      const body = JSON.parse(await readBody(incoming)) as Readonly<Record<string, unknown>>;
      await this.controls.act(what, body);
      send(response, 200, this.controls.state());
    } catch (error) {
      send(response, 400, { error: (error as Error).message });
    }
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAXIMUM_BODY_BYTES) throw new Error('that is too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
