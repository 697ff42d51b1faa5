import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DemoState } from '@quotadb/dashboard';
import { TcpProxy } from '@quotadb/wire/proxy';
import { type DemoControls, DemoHttp } from './demo-http.js';
import { DemoServer } from './demo-server.js';
import { RegionClient } from './region-client.js';
import { call, QUOTA, sendEmail, TOTAL_KEY } from './requests.js';
import { Traffic } from './traffic.js';

const REGIONS = ['us', 'eu', 'ap'] as const;
const FIRST_REQUESTS_PER_SECOND = 100;
const MOST_REQUESTS_PER_SECOND = 10_000;
/** The region where quotas are defined and where the tokens of this one start. */
const HOME = 'us';

const TOTAL_INTERVAL_MS = 100;
const UNKNOWN_TOTAL = '–';

/** The clients of one region. */
interface Clients {
  readonly calls: Traffic;
  readonly emails: Traffic;
  readonly total: RegionClient;
}

interface DemoLink {
  readonly from: string;
  readonly to: string;
  readonly proxy: TcpProxy;
  isCut: boolean;
}

/**
 * Three regions on this machine, each a real server with its own data, and clients in each. Every link between two goes
 * through a proxy that can be cut, and every region can be killed; the page shows the effects.
 */
export class Demo implements DemoControls {
  readonly regions = REGIONS;
  private readonly directory: string;
  private readonly links: DemoLink[] = [];
  private readonly servers = new Map<string, DemoServer>();
  private readonly clients = new Map<string, Clients>();
  /** The value of the counter of all requests, as each region reads it. */
  private readonly totals = new Map<string, string>();
  private readonly http = new DemoHttp(this);

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Resolves when all regions serve. The page has the first of these ports that no other program has. */
  static async start(ports: readonly number[]): Promise<{ demo: Demo; port: number }> {
    const demo = new Demo(await mkdtemp(join(tmpdir(), 'quotadb-demo-')));
    try {
      await demo.startAll();
      return { demo, port: await demo.http.listen(ports) };
    } catch (error) {
      await demo.stop();
      throw error;
    }
  }

  private async startAll(): Promise<void> {
    for (const [index, from] of REGIONS.entries())
      for (const to of REGIONS.slice(index + 1))
        this.links.push({ from, to, proxy: await TcpProxy.open(), isCut: false });
    for (const name of REGIONS) {
      const peers = this.links.filter(({ from }) => from === name);
      const flags = peers.flatMap(({ to, proxy }) => ['--peer', `${to}=127.0.0.1:${proxy.port}`]);
      flags.push('--data', join(this.directory, name), '--max-memory', '128mb', '--home', HOME);
      flags.push('--quota', `${QUOTA.name} LIMIT ${QUOTA.limit} WINDOW ${QUOTA.windowMs}ms`);
      this.servers.set(name, new DemoServer(name, flags));
    }
    await Promise.all(REGIONS.map((name) => this.startRegion(name)));
    for (const server of this.servers.values())
      this.clients.set(server.name, {
        calls: new Traffic(server, FIRST_REQUESTS_PER_SECOND, call),
        emails: new Traffic(server, FIRST_REQUESTS_PER_SECOND, sendEmail),
        total: new RegionClient(server, TOTAL_INTERVAL_MS, async (client) => {
          this.totals.set(server.name, (await client?.text('GET', TOTAL_KEY)) ?? UNKNOWN_TOTAL);
        }),
      });
  }

  private async startRegion(name: string): Promise<void> {
    const { repl } = await this.server(name).start();
    for (const { to, proxy } of this.links) if (to === name) proxy.target = repl;
  }

  /** Leaves no process, port or file behind. */
  async stop(): Promise<void> {
    this.http.close();
    for (const all of this.clients.values()) for (const one of Object.values(all)) one.stop();
    await Promise.all([...this.servers.values()].map((server) => server.end('SIGTERM')));
    await Promise.all(this.links.map(({ proxy }) => proxy.close()));
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Where Redis clients reach the regions; a region that is started again has another port. */
  addresses(): readonly { readonly name: string; readonly resp: number }[] {
    return [...this.servers.values()].flatMap(({ name, ports }) =>
      ports === undefined ? [] : [{ name, resp: ports.resp }],
    );
  }

  httpPortOf(region: string): number | undefined {
    return this.servers.get(region)?.ports?.http;
  }

  state(): DemoState {
    return {
      requestsPerSecond: this.clients.get(HOME)?.calls.requestsPerSecond ?? 0,
      quota: { name: QUOTA.name, subject: QUOTA.subject },
      regions: REGIONS.map((name) => {
        const clients = this.clients.get(name);
        return {
          name,
          isRunning: this.server(name).isRunning,
          calls: clients?.calls.measured ?? { allowed: 0, denied: 0 },
          emails: clients?.emails.measured ?? { allowed: 0, denied: 0 },
          total: this.totals.get(name) ?? UNKNOWN_TOTAL,
        };
      }),
      links: this.links.map(({ from, to, isCut }) => ({ from, to, isCut })),
    };
  }

  async act(what: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    if (what === 'cut' || what === 'heal') this.setCut(String(body.from), String(body.to), what === 'cut');
    else if (what === 'kill') await this.server(String(body.region)).end('SIGKILL');
    else if (what === 'start') await this.restart(String(body.region));
    else this.setTraffic(Number(body.requestsPerSecond));
  }

  private async restart(name: string): Promise<void> {
    if (!this.server(name).isRunning) await this.startRegion(name);
  }

  private setCut(from: string, to: string, isCut: boolean): void {
    const link = this.links.find((other) => other.from === from && other.to === to);
    if (link === undefined) throw new Error(`there is no link from ${from} to ${to}`);
    link.isCut = isCut;
    if (isCut) link.proxy.cut();
    else link.proxy.heal();
  }

  private setTraffic(requestsPerSecond: number): void {
    if (!(requestsPerSecond >= 0 && requestsPerSecond <= MOST_REQUESTS_PER_SECOND))
      throw new Error(`traffic is a number from 0 to ${MOST_REQUESTS_PER_SECOND}`);
    for (const { calls, emails } of this.clients.values()) {
      calls.requestsPerSecond = requestsPerSecond;
      emails.requestsPerSecond = requestsPerSecond;
    }
  }

  private server(name: string): DemoServer {
    const server = this.servers.get(name);
    if (server === undefined) throw new Error(`there is no region ${name}`);
    return server;
  }
}
