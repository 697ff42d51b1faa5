import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The binary as `npm run build` made it. */
export const QUOTADB_BINARY: string = fileURLToPath(new URL('../../../cli/bin/quotadb.js', import.meta.url));

export interface ReadyLine {
  readonly ready: true;
  readonly region: string;
  readonly resp: number;
  readonly respTls?: number;
  readonly http: number;
  readonly repl?: number;
  readonly rls?: number;
  readonly pid: number;
  readonly transport: string;
  readonly lanes: number;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A quotadb process. A test run that dies does not leave it behind. */
export class SpawnedServer {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  private readonly firstLine: Promise<string | undefined>;

  /** `descriptorLimit` is what the process may have open at most. */
  constructor(words: readonly string[], environment: NodeJS.ProcessEnv = {}, descriptorLimit?: number) {
    const command = [process.execPath, QUOTADB_BINARY, ...words];
    const limited = ['bash', '-c', `ulimit -n ${descriptorLimit}; exec "$@"`, 'bash', ...command];
    const [program, ...rest] = descriptorLimit === undefined ? command : limited;
    this.child = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    const kill = () => this.child.kill('SIGKILL');
    process.once('exit', kill);
    let stdout = '';
    let stderr = '';
    this.child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    this.finished = once(this.child, 'close').then(([code, signal]) => {
      process.removeListener('exit', kill);
      return { code, signal, stdout, stderr };
    });
    this.firstLine = firstLineOf(this.child);
  }

  async ready(): Promise<ReadyLine> {
    const line = await this.firstLine;
    if (line === undefined) throw new Error(`quotadb did not start: ${(await this.finished).stderr}`);
    return JSON.parse(line) as ReadyLine;
  }

  async stop(): Promise<Finished> {
    this.child.kill('SIGTERM');
    return this.finished;
  }
}

/** `quotadb serve` on free ports. */
export function spawnServer(
  flags: readonly string[] = [],
  environment: NodeJS.ProcessEnv = {},
  descriptorLimit?: number,
): SpawnedServer {
  return new SpawnedServer(
    ['serve', '--resp', '0', '--http', '0', '--repl', '0', ...flags],
    environment,
    descriptorLimit,
  );
}

/** Undefined when the process ends without one. */
async function firstLineOf(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  for await (const line of createInterface({ input: child.stdout })) return line;
  return undefined;
}
