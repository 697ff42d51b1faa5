import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramResult, runProgram } from '../testing/index.js';

/** An engine that is itself not allowed to raise limits starts nothing with podman's own, which are higher. */
const LIMITS = ['--ulimit=nofile=20000:20000', '--ulimit=nproc=20000:20000'];

/**
 * Debian's podman, with images, containers, networks and volumes in a directory of its own that goes with it. Where
 * QUOTADB_CONTAINER_STORE names one, images are kept there for the next run.
 */
export class Podman {
  readonly directory: string;
  /** The network, and the beginning of the name of every container. */
  readonly name = `quotadb-test-${process.pid}`;
  readonly #keepsImages: boolean;

  private constructor(directory: string, keepsImages: boolean) {
    this.directory = directory;
    this.#keepsImages = keepsImages;
  }

  static async open(): Promise<Podman> {
    const kept = process.env.QUOTADB_CONTAINER_STORE;
    return new Podman(kept ?? (await mkdtemp(join(tmpdir(), 'quotadb-containers-'))), kept !== undefined);
  }

  /** Standard output. Throws what podman said where it failed. */
  async run(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(...words);
    if (code === 0) return stdout.trim();
    throw new Error(`podman ${words.join(' ')} ended with ${code}:\n${stderr.slice(-4000)}`);
  }

  attempt(...words: readonly string[]): Promise<ProgramResult> {
    const own = [
      `--root=${join(this.directory, 'store')}`,
      `--runroot=${join(this.directory, 'run')}`,
      `--tmpdir=${join(this.directory, 'tmp')}`,
      `--network-config-dir=${join(this.directory, 'networks')}`,
    ];
    return runProgram('podman', [...own, ...words], { env: { ...process.env, TMPDIR: this.directory } });
  }

  /** Builds an image, with the network of the machine; resolves to what the builder printed. */
  async build(tag: string, context: string, ...words: readonly string[]): Promise<string> {
    // Health checks are a part of Docker's format alone.
    const format = ['--format=docker', '--layers', '--network=host', '--pull=never', ...LIMITS];
    return this.run('build', ...format, `--tag=${tag}`, ...words, context);
  }

  /** Starts a container in the network under the name that the others know it by. */
  async start(service: string, words: readonly string[]): Promise<void> {
    const isAlone = words.some((word) => word.startsWith('--network='));
    const network = isAlone ? [] : [`--network=${this.name}:alias=${service}`];
    await this.run('run', '--detach', ...LIMITS, `--name=${this.containerOf(service)}`, ...network, ...words);
  }

  /** What a service finds under /run/secrets. */
  async createSecret(name: string, value: string): Promise<void> {
    const file = join(this.directory, 'secret');
    await writeFile(file, value, { mode: 0o600 });
    await this.run('secret', 'create', name, file);
    await rm(file);
  }

  containerOf(service: string): string {
    return `${this.name}-${service}`;
  }

  /** Runs a program in a container of the image, which goes with it. */
  runOnce(image: string, ...words: readonly string[]): Promise<string> {
    return this.run('run', '--rm', ...LIMITS, '--entrypoint=[]', image, ...words);
  }

  /** Runs a program inside a container: also one that is cut from the network. */
  execute(service: string, ...words: readonly string[]): Promise<string> {
    return this.run('exec', this.containerOf(service), ...words);
  }

  /** The port of this machine behind which a port of a container is. */
  async portOf(service: string, port: number): Promise<number> {
    return Number((await this.run('port', this.containerOf(service), `${port}/tcp`)).split(':').at(-1));
  }

  /** The end of what a container has written, on both streams. */
  async logOf(service: string): Promise<string> {
    const { stdout, stderr } = await this.attempt('logs', '--tail=20', this.containerOf(service));
    return stdout + stderr;
  }

  /** Whether the health check of the container finds it healthy. */
  async isHealthy(service: string): Promise<boolean> {
    return (await this.attempt('healthcheck', 'run', this.containerOf(service))).code === 0;
  }

  async hasImage(name: string): Promise<boolean> {
    return (await this.attempt('image', 'exists', name)).code === 0;
  }

  /** Removes all that was made, whatever state it is in. */
  async close(): Promise<void> {
    await this.attempt('rm', '--all', '--force', '--time=0', '--volumes');
    await this.attempt('network', 'rm', '--force', this.name);
    await this.attempt('volume', 'rm', '--all', '--force');
    await this.attempt('secret', 'rm', '--all');
    if (this.#keepsImages) return;
    await this.attempt('system', 'reset', '--force');
    await rm(this.directory, { recursive: true, force: true });
  }
}
