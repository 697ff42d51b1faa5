import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from '../terminal/run-command.js';

const PROGRAM = fileURLToPath(new URL('../../bin/quotadb.js', import.meta.url));
const STOP_MS = 8000;

interface RegionPorts {
  readonly resp: number;
  readonly http: number;
  readonly repl: number;
}

/** One region of the demo: a server process that can be killed and started again on the same data. */
export class DemoServer {
  readonly name: string;
  ports: RegionPorts | undefined = undefined;
  private readonly flags: readonly string[];
  private process: ChildProcess | undefined = undefined;

  constructor(name: string, flags: readonly string[]) {
    this.name = name;
    this.flags = flags;
  }

  get isRunning(): boolean {
    return this.ports !== undefined;
  }

  /** Resolves when it serves. */
  async start(): Promise<RegionPorts> {
    const flags = ['--region', this.name, '--resp', '0', '--http', '0', '--repl', '0', '--lanes', '1'];
    const child = spawn(process.execPath, [PROGRAM, 'serve', ...flags, ...this.flags], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // Ctrl-C signals the whole process group of the terminal; the demo stops its regions itself, in order.
      detached: true,
    });
    this.process = child;
    child.once('exit', () => {
      if (this.process === child) this.ports = undefined;
    });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [undefined])])) as [
      string | undefined,
    ];
    if (line === undefined) throw new Failure(`region ${this.name} of the demo did not start`);
    this.ports = JSON.parse(line) as RegionPorts;
    return this.ports;
  }

  /** SIGTERM lets it finish; SIGKILL ends it at once, as a power failure would. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { process: child } = this;
    this.ports = undefined;
    this.process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(timer);
  }
}
