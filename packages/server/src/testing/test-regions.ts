import { eventually, TestClient } from '@quotadb/resp/testing';
import { memberOfServer, regionOfServer } from '@quotadb/wire';
import { TcpProxy } from '@quotadb/wire/proxy';
import { type ReadyLine, type SpawnedServer, spawnServer } from './spawned-server.js';

interface RunningRegion {
  readonly server: SpawnedServer;
  readonly ready: ReadyLine;
  readonly client: TestClient;
}

/** Small, so that many fit on one machine. */
const USUAL_FLAGS = ['--transport', 'net', '--max-memory', '32mb', '--log-level', 'info'];

/** Regions, or members of regions (us/a), as real processes; each dials every other through a proxy of its own. */
export class TestRegions {
  readonly names: readonly string[];
  private readonly proxies = new Map<string, TcpProxy>();
  private readonly running = new Map<string, RunningRegion>();
  private readonly flags: readonly string[];

  private constructor(names: readonly string[], flags: readonly string[]) {
    this.names = names;
    this.flags = flags;
  }

  /** `dials` lists which region dials which; without it every region dials all others. */
  static async make(
    names: readonly string[],
    { dials, flags = [] }: { dials?: readonly (readonly [string, string])[]; flags?: readonly string[] } = {},
  ): Promise<TestRegions> {
    const regions = new TestRegions(names, flags);
    const allPairs = names.flatMap((one) =>
      names.filter((other) => other !== one).map((other) => [one, other] as const),
    );
    for (const [from, to] of dials ?? allPairs) regions.proxies.set(`${from}>${to}`, await TcpProxy.open());
    return regions;
  }

  static async start(...given: Parameters<typeof TestRegions.make>): Promise<TestRegions> {
    const regions = await TestRegions.make(...given);
    await regions.startAll();
    return regions;
  }

  async startAll(flagsOf: (name: string) => readonly string[] = () => []): Promise<void> {
    await Promise.all(this.names.map((name) => this.start(name, flagsOf(name))));
  }

  async start(name: string, flags: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Promise<void> {
    const peers = [...this.proxies].flatMap(([pair, { port }]) => {
      const [from, to] = pair.split('>');
      return from === name ? ['--peer', `${to}=127.0.0.1:${port}`] : [];
    });
    const identity = ['--region', regionOfServer(name), '--member', memberOfServer(name)];
    const server = spawnServer([...USUAL_FLAGS, ...identity, ...peers, ...this.flags, ...flags], environment);
    const ready = await server.ready();
    for (const [pair, proxy] of this.proxies) if (pair.endsWith(`>${name}`)) proxy.target = ready.repl as number;
    this.running.set(name, { server, ready, client: await TestClient.open(ready.resp) });
  }

  of(name: string): RunningRegion {
    const region = this.running.get(name);
    if (region === undefined) throw new Error(`${name} does not run`);
    return region;
  }

  call(name: string, ...words: (string | number)[]): Promise<string> {
    return this.of(name).client.call(...words);
  }

  async value(name: string, key: string): Promise<number> {
    const reply = await this.call(name, 'GET', key);
    return reply === '$-1\r\n' ? 0 : Number(reply.split('\r\n')[1]);
  }

  /** Waits until every region that runs shows this value. */
  async agreeOn(key: string, value: number): Promise<void> {
    await eventually(async () => {
      const values = await Promise.all([...this.running.keys()].map((name) => this.value(name, key)));
      if (values.some((found) => found !== value)) throw new Error(`${key} is ${values.join(', ')}, not ${value}`);
    });
  }

  /** One line of INFO replication about another region, as fields. */
  async peer(name: string, other: string): Promise<Record<string, string>> {
    const line = new RegExp(`^quotadb_peer_${other}:(.*)\r$`, 'm').exec(
      await this.call(name, 'INFO', 'replication'),
    )?.[1];
    return Object.fromEntries((line ?? '').split(',').map((field) => field.split(/=(.*)/s)));
  }

  async connected(name: string, other: string): Promise<void> {
    await eventually(async () => {
      const { state, trouble } = await this.peer(name, other);
      if (state !== 'connected') throw new Error(`${name} is not connected to ${other}: ${state} ${trouble}`);
    });
  }

  /** Resolves when every link with a proxy is up. */
  async allConnected(): Promise<void> {
    for (const pair of this.proxies.keys()) {
      const [from, to] = pair.split('>');
      if (this.running.has(from) && this.running.has(to)) await this.connected(from, to);
    }
  }

  /** Ends the process at once, as a power failure would. */
  async kill(name: string): Promise<void> {
    const { server, client } = this.of(name);
    this.running.delete(name);
    server.child.kill('SIGKILL');
    await server.finished;
    client.close();
  }

  async stop(name: string): Promise<string> {
    const { server, client } = this.of(name);
    this.running.delete(name);
    const { code, stderr } = await server.stop();
    client.close();
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr}`);
    return stderr;
  }

  cut(one: string, other: string): void {
    for (const proxy of this.between(one, other)) proxy.cut();
  }

  heal(one: string, other: string): void {
    for (const proxy of this.between(one, other)) proxy.heal();
  }

  delay(one: string, other: string, delayMs: number): void {
    for (const proxy of this.between(one, other)) proxy.delayMs = delayMs;
  }

  async close(): Promise<void> {
    await Promise.all([...this.running.keys()].map((name) => this.kill(name)));
    for (const proxy of this.proxies.values()) await proxy.close();
  }

  private between(one: string, other: string): TcpProxy[] {
    return [`${one}>${other}`, `${other}>${one}`].flatMap((pair) => this.proxies.get(pair) ?? []);
  }
}
