import { type IncomingMessage, request } from 'node:http';
import type { DemoState } from '@quotadb/dashboard';
import {
  type Api,
  createHandler,
  defineProblems,
  type Exchange,
  HttpServer,
  operationsOf,
  ProblemError,
  Sites,
  serveApi,
} from '@quotadb/http';
import { isLoopbackHost } from '@quotadb/replication/plaintext';
import { pageOperations } from '@quotadb/server';
import { z } from 'zod';
import { Failure } from '../terminal/run-command.js';

/** The demo, as its page controls it. */
export interface DemoControls {
  readonly regions: readonly string[];
  httpPortOf(region: string): number | undefined;
  state(): DemoState;
  /** Throws an Error that says why the action is refused. */
  act(what: string, body: Readonly<Record<string, unknown>>): Promise<void>;
}

const MAXIMUM_CONNECTIONS = 1000;

const demoProblems = defineProblems({
  action_refused: [400, 'Action refused', 'The demo cannot do this; the detail says why.'],
  no_such_region: [404, 'No such region', 'The demo has no region of this name.'],
  region_silent: [502, 'Region silent', 'The region is running but does not answer.'],
  region_stopped: [503, 'Region stopped', 'The region is not running.'],
});

const operation = operationsOf<DemoControls>();

const demoApi: Api<DemoControls, unknown> = {
  name: 'demo',
  title: 'QuotaDB demo',
  description: 'The page of the dashboard, every region behind it, and the controls.',
  operations: [
    ...pageOperations,
    operation({
      id: 'redirectToDashboard',
      method: 'GET',
      path: '/',
      summary: 'Redirects to the page',
      success: { status: 302, description: 'To `/dashboard/`.' },
      respond: (_context, _input, _caller, { response }) =>
        void response.writeHead(302, { location: '/dashboard/' }).end(),
    }),
    operation({
      id: 'listSources',
      method: 'GET',
      path: '/api/v1/dashboard/sources',
      summary: 'The regions of the demo',
      success: { description: 'The regions.' },
      run: ({ regions }) => ({
        sources: regions.map((region) => ({ region, base: `/regions/${region}` })),
        isDemo: true,
        // Its regions have no credentials.
        user: { name: 'default', isAdmin: true, mayTake: true },
      }),
    }),
    operation({
      id: 'readState',
      method: 'GET',
      path: '/demo/state',
      summary: 'The state of the demo',
      success: { description: 'The state.' },
      run: (controls) => controls.state(),
    }),
    operation({
      id: 'act',
      method: 'POST',
      path: '/demo/{action}',
      summary: 'Cut or heal a link, kill or start a region, or change the traffic',
      parameters: z.object({ action: z.enum(['cut', 'heal', 'kill', 'start', 'traffic']) }),
      body: { schema: z.looseObject({}) },
      success: { description: 'The state afterwards.' },
      run: async (controls, { path, body }) => {
        try {
          await controls.act(path.action, body);
        } catch (error) {
          throw new ProblemError(demoProblems.action_refused, { detail: (error as Error).message });
        }
        return controls.state();
      },
    }),
    ...(['GET', 'POST', 'PUT', 'DELETE'] as const).map((method) =>
      operation({
        id: `askRegion${method}`,
        method,
        path: '/regions/{region}/{+rest}',
        summary: 'The HTTP port of a region',
        success: { description: 'The answer of the region.' },
        respond: (controls, { path: { region } }, _caller, exchange) => pass(exchange, region, controls),
      }),
    ),
  ],
};

/** Of a request with a body. Who sent it, and from which page, has been checked here. */
const PASSED_HEADERS = ['content-type', 'content-length', 'transfer-encoding'] as const;

/** The demo's own port, on this machine only. */
export class DemoHttp {
  private readonly server: HttpServer;

  constructor(controls: DemoControls) {
    const handle = createHandler([serveApi(demoApi, controls)], {
      authenticate: () => ({}),
      sites: new Sites({ isOpen: () => true, isLoopbackName: isLoopbackHost }),
      onError: (error) => process.stderr.write(`${(error as Error).stack}\n`),
    });
    this.server = new HttpServer({ handle, maximumConnections: MAXIMUM_CONNECTIONS });
  }

  /** The first of these ports that is free. */
  async listen([port, ...others]: readonly number[]): Promise<number> {
    try {
      return await this.server.listen('127.0.0.1', port);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && others.length > 0) return this.listen(others);
      const isTaken = code === 'EADDRINUSE' || code === 'EACCES';
      throw isTaken ? new Failure(`port ${port} cannot be listened on (${code}): give another with --http`) : error;
    }
  }

  close(): void {
    this.server.close();
  }
}

function pass({ request: incoming, response }: Exchange, region: string, demo: DemoControls): Promise<void> {
  const port = demo.httpPortOf(region);
  const detail = `Region ${region} is not running. Start it on the page.`;
  if (!demo.regions.includes(region)) throw new ProblemError(demoProblems.no_such_region);
  if (port === undefined) throw new ProblemError(demoProblems.region_stopped, { detail });
  return new Promise((resolve, reject) => {
    const path = (incoming.url as string).replace(/^\/regions\/[^/]+/, '');
    const { method, headers: given } = incoming;
    const headers = Object.fromEntries(
      PASSED_HEADERS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
    );
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers }, (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
      resolve();
    });
    outgoing.on('error', () => reject(new ProblemError(demoProblems.region_silent)));
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
}
