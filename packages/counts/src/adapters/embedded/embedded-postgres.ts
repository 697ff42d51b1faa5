import { type ChildProcess, spawn } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ConnectionOptions } from '../postgres/connection.js';
import { type Account, canReach, chooseAccount } from './account.js';
import { ensureDatabase, exists, placeOf } from './database-directory.js';
import { childEnvironment } from './environment.js';
import { copyNativeFiles, ensureLibraryLinks, findNativeFiles } from './native-files.js';
import { watchOver } from './watchdog.js';

const START_TIMEOUT_MS = 30_000;
/** A standby is ready too, to be read. */
const READY_MESSAGE = /database system is ready to accept (?:read-only )?connections/;
/** Enough of PostgreSQL's own words to explain a start that failed. */
const KEPT_LOG_CHARACTERS = 4_000;

/** A part of the socket's name. */
const SOCKET_PORT = 5432;
/** Only the socket is listened on, and only this account may enter its folder: no port, no password. */
const SERVER_SETTINGS = [`port=${SOCKET_PORT}`, 'listen_addresses=', 'jit=off', 'max_connections=150'];

export interface EmbeddedPostgresOptions {
  /** The folder of the database. Without one it is temporary and goes with this process. */
  readonly directory?: string | undefined;
  /** Further settings of the server, `name=value`; they win over ours. */
  readonly settings?: readonly string[] | undefined;
  readonly onLog?: ((text: string) => void) | undefined;
}

/** A real PostgreSQL of our own: created on first start, stopped with us, started again if it should die. */
export class EmbeddedPostgres {
  readonly #options: EmbeddedPostgresOptions;
  /** Holds the socket, and where needed a copy of the programs and a temporary database. */
  #scratch: string | undefined;
  #server: ChildProcess | undefined;
  #starting: Promise<ConnectionOptions> | undefined;
  #stopped = false;

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#server?.pid;
  }

  /** Where the running server is; starts it unless it runs. */
  start(): Promise<ConnectionOptions> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#starting?.catch(() => undefined);
    const server = this.#server;
    if (server !== undefined) {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      // From here on there is something to wait for, even if nothing else keeps this process alive.
      server.ref();
      // Ends sessions in an orderly way without waiting for clients to go.
      server.kill('SIGINT');
      await ended;
    }
    if (this.#scratch !== undefined) await rm(this.#scratch, { recursive: true, force: true });
  }

  async #start(): Promise<ConnectionOptions> {
    if (this.#stopped) throw new Error('The embedded PostgreSQL has been stopped.');
    if (process.platform === 'win32') {
      throw new Error('The embedded PostgreSQL needs Unix sockets; on Windows give the URL of one with --postgres.');
    }
    const account = await chooseAccount();
    this.#scratch ??= await makeScratch(account);
    const native = await reachableNativeFiles(account, this.#scratch);
    const directory = resolve(this.#options.directory ?? join(this.#scratch, 'data'));
    await ensureDatabase(native, directory, account);
    await this.#launch(native, directory, account, this.#scratch);
    // All of them: the driver takes an option that is left out from PGPORT, PGSSLMODE and their like.
    return { host: this.#scratch, port: SOCKET_PORT, user: 'quotadb', database: 'postgres', ssl: false };
  }

  async #launch(native: string, directory: string, account: Account | undefined, scratch: string): Promise<void> {
    const place = await placeOf(directory, account);
    const own = [...SERVER_SETTINGS, `unix_socket_directories=${scratch}`];
    const settings = [...own, ...(this.#options.settings ?? [])].flatMap((setting) => ['-c', setting]);
    const server = spawn(join(native, 'bin', 'postgres'), ['-D', place.name, ...settings], {
      ...account,
      cwd: place.cwd,
      env: childEnvironment(),
      // In a session of its own: an interrupt typed at the terminal is for us, and we stop it when we are done.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#server = server;
    server.once('exit', () => {
      this.#server = undefined;
      this.#starting = undefined;
    });
    await this.#untilReady(server);
    const watchdog = watchOver(server.pid!, scratch);
    server.once('exit', () => watchdog.kill('SIGKILL'));
    server.unref();
    (server.stderr as unknown as { unref(): void }).unref();
  }

  #untilReady(server: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      let log = '';
      const fail = (reason: string) => reject(new Error(`PostgreSQL did not start: ${reason}\n${log.trim()}`));
      const timer = setTimeout(() => {
        fail(`no answer within ${START_TIMEOUT_MS} ms`);
        server.kill('SIGQUIT');
      }, START_TIMEOUT_MS);
      server.once('error', (error) => fail(error.message));
      server.once('exit', (code) => {
        clearTimeout(timer);
        fail(`exit code ${code}`);
      });
      server.stderr!.setEncoding('utf8').on('data', (text: string) => {
        this.#options.onLog?.(text.trimEnd());
        log = (log + text).slice(-KEPT_LOG_CHARACTERS);
        if (!READY_MESSAGE.test(log)) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

async function makeScratch(account: Account | undefined): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), 'quotadb-postgres-'));
  if (account !== undefined) await chown(scratch, account.uid, account.gid);
  return scratch;
}

/** As root, the package may have been installed where PostgreSQL's account cannot go; then it gets a copy. */
async function reachableNativeFiles(account: Account | undefined, scratch: string): Promise<string> {
  const native = findNativeFiles();
  if (account === undefined || (await canReach(account, join(native, 'bin')))) {
    await ensureLibraryLinks(native);
    return native;
  }
  const copy = join(scratch, 'package', 'native');
  if (!(await exists(copy))) await copyNativeFiles(native, copy);
  await ensureLibraryLinks(copy);
  return copy;
}
