import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '@quotadb/wire/testing';
import { type ReadyLine, runProgram } from '../../testing/index.js';
import { GUIDE_PORTS, isServe, localLine } from './guide-lines.js';

/** A server that a page has started. */
interface Running {
  readonly child: ChildProcess;
  readonly ready: ReadyLine;
  /** The command line, as the page has it. */
  readonly line: string;
}

/** Regions that have just started need a moment until they know each other. */
const PATIENCE_MS = 30_000;

/** The machine of a reader who follows a page: a directory, a server that runs, and one more for each `serve`. */
export class GuideMachine {
  readonly #home: string;
  readonly #directory: string;
  readonly #redisPort: number;
  readonly #servers: Running[] = [];
  readonly #ports = new Map<string, number>();
  readonly #kill = () => {
    for (const { child } of this.#servers) child.kill('SIGKILL');
  };

  private constructor(home: string, directory: string, redisPort: number) {
    this.#home = home;
    this.#directory = directory;
    this.#redisPort = redisPort;
    process.once('exit', this.#kill);
  }

  /** `home` has the folders `tls` and `regions`, with certificates. */
  static async start(home: string, redisPort: number): Promise<GuideMachine> {
    const machine = new GuideMachine(home, await mkdtemp(join(home, 'page-')), redisPort);
    const line = 'quotadb serve --region us --data first --backup-dir first-backups --peer eu=127.0.0.1:1';
    const started = await machine.run(line);
    if (started !== 'done') throw new Error(started);
    return machine;
  }

  /** Returns `done`, or what went wrong. */
  async run(line: string): Promise<string> {
    if (isServe(line)) return this.#serve(line);
    const until = Date.now() + PATIENCE_MS;
    let outcome = await this.#finish(line);
    while (outcome.includes('STALE') && Date.now() < until) outcome = await this.#finish(line);
    return outcome;
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await end(server);
    process.removeListener('exit', this.#kill);
  }

  async #serve(line: string): Promise<string> {
    // Two lines with the same directory are two ways to start one server.
    const data = dataOf(line);
    for (const server of this.#servers) if (data !== undefined && dataOf(server.line) === data) await end(server);
    if (line.includes('--repl ')) {
      for (const [port] of line.matchAll(GUIDE_PORTS))
        this.#ports.set(port, this.#ports.get(port) ?? (await freePort()));
    }
    const command = this.#local(line);
    const child = spawn('bash', ['-c', command], { cwd: this.#folderOf(line), stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      log += part;
    });
    let first: string | undefined;
    for await (first of createInterface({ input: child.stdout })) break;
    if (first === undefined) return `${command} did not start: ${log}`;
    this.#servers.push({ child, ready: JSON.parse(first), line });
    return 'done';
  }

  async #finish(line: string): Promise<string> {
    const text = this.#local(line);
    const { code, stdout, stderr } = await runProgram('bash', ['-c', text], { cwd: this.#folderOf(line) });
    return code === 0 ? 'done' : `${text} ended with ${code}: ${stdout}${stderr}`;
  }

  /** Where the files are that the command names. */
  #folderOf(line: string): string {
    const own = join(this.#directory, 'certs');
    if (line.includes('--repl-cert')) return existsSync(own) ? own : join(this.#home, 'regions');
    return /--tls|password\.txt/.test(line) ? join(this.#home, 'tls') : this.#directory;
  }

  #local(line: string): string {
    // Peers and their ages are those of the first server, which has one; other questions go to the newest.
    const asked = /peers|FRESH|REPL/.test(line) ? this.#servers[0] : this.#servers.at(-1);
    const { resp = 0, respTls = 0 } = asked?.ready ?? {};
    const here = { directory: this.#directory, redisPort: this.#redisPort, ports: this.#ports };
    return localLine(line, { ...here, resp, respTls });
  }
}

function dataOf(line: string): string | undefined {
  return /--data (\S+)/.exec(line)?.[1];
}

async function end({ child }: Running): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
}
