import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Cleanup, type Undo, undoNow } from '../machine/cleanup.js';
import {
  type ControlGroupOutcome,
  createControlGroup,
  LIMIT_CPUS,
  LIMIT_MEMORY_BYTES,
} from '../machine/control-groups.js';

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;
/** The last lines a server wrote explain why it did not start. */
const KEPT_OUTPUT_LINES = 20;

/** Joins the groups and then becomes the server, so that not a byte of its memory is counted elsewhere. */
const JOIN_AND_RUN = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"';

export interface ServerCommand<Ready> {
  /** For messages and the names of directories and groups. */
  readonly name: string;
  readonly program: string;
  readonly arguments: readonly string[];
  /** The ports, once a line of standard output says that the server is ready. */
  readonly ready: (line: string) => Ready | undefined;
  /** Whether to hold it to 2 CPUs and 2 GiB. */
  readonly limits: boolean;
}

export interface ServerProcess {
  readonly name: string;
  readonly pid: number;
  /** Where it speaks RESP; of a service without RESP, HTTP. */
  readonly port: number;
  /** What the server is held to, in words. */
  readonly limits: string;
  /** From the start of the process to the line that says it is ready. */
  readonly readySeconds: number;
  stop(): Promise<void>;
}

let startedServers = 0;

/** Starts a server in a temporary directory and, where asked for and allowed, in a control group of its own. */
export async function startServerProcess<Ready extends { readonly port: number }>(
  command: ServerCommand<Ready>,
  cleanup: Cleanup,
): Promise<ServerProcess & Ready> {
  const { name, program } = command;
  const directory = mkdtempSync(join(tmpdir(), `quotadb-bench-${name.replaceAll(/\W/g, '-')}-`));
  const removeDirectory = cleanup.add(undoNow(() => rmSync(directory, { recursive: true, force: true })));
  const outcome: ControlGroupOutcome = command.limits
    ? createControlGroup(`quotadb-bench-${process.pid}-${++startedServers}`)
    : { refused: 'not asked for' };
  const group = 'group' in outcome ? outcome.group : undefined;
  const removeGroup = group && cleanup.add(group);

  const words = ['-c', JOIN_AND_RUN, 'sh', ...(group?.joinFiles ?? []), '--', program, ...command.arguments];
  const startedAtMs = performance.now();
  // Detached, a process group of its own: Ctrl-C is for the bench, which then stops its servers in order.
  const child = spawn('sh', words, {
    cwd: directory,
    env: serverEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const stopProcess = cleanup.add(processUndo(child));
  const ready = await untilReady(command, child);
  const readySeconds = (performance.now() - startedAtMs) / 1000;
  const stop = async () => {
    await stopProcess();
    await removeGroup?.();
    await removeDirectory();
  };
  return { name, pid: child.pid!, limits: describeLimits(outcome, child.pid!), readySeconds, stop, ...ready };
}

/** The caller's own settings must not change the figures. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTADB_') && name !== 'NODE_OPTIONS');
  return Object.fromEntries(kept);
}

function describeLimits(outcome: ControlGroupOutcome, pid: number): string {
  if ('refused' in outcome) return `none: ${outcome.refused}`;
  if (!outcome.group.holds(pid)) return 'none: the process could not join its control group';
  return `${LIMIT_CPUS} CPUs, ${LIMIT_MEMORY_BYTES / 1024 ** 3} GiB`;
}

function untilReady<Ready>(command: ServerCommand<Ready>, child: ChildProcess): Promise<Ready> {
  return new Promise((resolve, reject) => {
    const output: string[] = [];
    const fail = (reason: string) => {
      clearTimeout(timer);
      reject(new Error([`${command.name} did not start: ${reason}`, ...output].join('\n  ')));
    };
    const timer = setTimeout(() => fail(`not ready within ${READY_WITHIN_MS / 1000} s`), READY_WITHIN_MS);
    const keep = (line: string) => {
      output.push(line);
      if (output.length > KEPT_OUTPUT_LINES) output.shift();
    };
    createInterface({ input: child.stderr! }).on('line', keep);
    createInterface({ input: child.stdout! }).on('line', (line) => {
      keep(line);
      const ready = command.ready(line);
      if (ready === undefined) return;
      clearTimeout(timer);
      resolve(ready);
    });
    child.once('error', (error) => fail(error.message));
    // 'close' rather than 'exit': by then all its output has been read.
    child.once('close', (code, killedBy) => fail(`it ended (${killedBy ?? `exit code ${code}`})`));
  });
}

function processUndo(child: ChildProcess): Undo {
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    gently: async () => {
      if (hasEnded()) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await exited;
      clearTimeout(timer);
    },
    atOnce: () => {
      if (!hasEnded()) child.kill('SIGKILL');
    },
  };
}
