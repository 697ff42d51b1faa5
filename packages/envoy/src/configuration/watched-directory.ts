import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfiguration, type SourceFile } from './read-configuration.js';
import type { Domains } from './rule.js';
import { type Mistake, printMistake } from './yaml-file.js';

const MAXIMUM_FILES = 1000;
const MAXIMUM_FILE_BYTES = 4 * 1024 * 1024;

/** A configuration that cannot be used; the message has a line for every mistake. */
export class EnvoyConfigurationError extends Error {
  override readonly name = 'EnvoyConfigurationError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

function parse(files: readonly SourceFile[]): Domains {
  const { domains, mistakes } = readConfiguration(files);
  if (domains === undefined) throw new EnvoyConfigurationError((mistakes as readonly Mistake[]).map(printMistake));
  return domains;
}

async function readFiles(directory: string): Promise<SourceFile[]> {
  try {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
    if (names.length > MAXIMUM_FILES) throw new Error(`it has ${names.length} files: at most ${MAXIMUM_FILES}`);
    return await Promise.all(names.map((name) => readSource(join(directory, name), name)));
  } catch (error) {
    if (error instanceof EnvoyConfigurationError) throw error;
    throw new EnvoyConfigurationError([`${directory}: ${(error as Error).message}`]);
  }
}

async function readSource(path: string, name: string): Promise<SourceFile> {
  const { size } = await stat(path);
  if (size > MAXIMUM_FILE_BYTES)
    throw new EnvoyConfigurationError([`${name}:1: the file has ${size} bytes: at most ${MAXIMUM_FILE_BYTES}`]);
  return { name, text: await readFile(path, 'utf8') };
}

export interface DirectoryWatch {
  readonly intervalMs: number;
  /** A new configuration, whole and without mistakes. */
  onChange(domains: Domains): void;
  /** The files have changed and cannot be used; called once for each change. */
  onError(error: EnvoyConfigurationError): void;
}

/**
 * The *.yaml files of a directory. They are read at an interval, and compared: notifications of the file system are not
 * reliable where files are mounted. A mistake is reported when the files have stood still for an interval, because an
 * editor may be in the middle of writing them.
 */
export class WatchedDirectory {
  private readonly directory: string;
  /** The files that were last taken over, or whose mistakes were last reported. */
  private settled = '';
  private failed = '';
  private isStopped = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Throws an EnvoyConfigurationError. */
  async load(): Promise<Domains> {
    const files = await readFiles(this.directory);
    this.settled = JSON.stringify(files);
    return parse(files);
  }

  watch(watch: DirectoryWatch): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => void this.look(watch).finally(() => this.watch(watch)), watch.intervalMs);
    this.timer.unref();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private async look(watch: DirectoryWatch): Promise<void> {
    let text = '';
    try {
      const files = await readFiles(this.directory);
      text = JSON.stringify(files);
      if (text === this.settled || this.isStopped) return;
      const domains = parse(files);
      this.settled = text;
      watch.onChange(domains);
    } catch (error) {
      if (!(error instanceof EnvoyConfigurationError)) throw error;
      const fault = text === '' ? error.message : text;
      if (this.isStopped || fault === this.settled) return;
      if (this.failed === fault) {
        this.settled = fault;
        watch.onError(error);
      }
      this.failed = fault;
    }
  }
}
