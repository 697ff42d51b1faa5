import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FileWatch } from '@quotadb/wire/files';
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
    const names = await namesIn(directory);
    if (names.length > MAXIMUM_FILES) throw new Error(`it has ${names.length} files: at most ${MAXIMUM_FILES}`);
    return await Promise.all(names.map((name) => readSource(join(directory, name), name)));
  } catch (error) {
    if (error instanceof EnvoyConfigurationError) throw error;
    throw new EnvoyConfigurationError([`${directory}: ${(error as Error).message}`]);
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
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

/** The *.yaml files of a directory, read at the start and when the text of one has changed. */
export class WatchedDirectory {
  private readonly directory: string;
  /** The texts that were last read, or why they could not be. */
  private known = '';
  private files: FileWatch | undefined = undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Throws an EnvoyConfigurationError. */
  async load(): Promise<Domains> {
    const files = await readFiles(this.directory);
    this.known = JSON.stringify(files);
    return parse(files);
  }

  watch(watch: DirectoryWatch): void {
    const paths = async () => {
      const names = await namesIn(this.directory).catch(() => []);
      return names.slice(0, MAXIMUM_FILES + 1).map((name) => join(this.directory, name));
    };
    this.files = new FileWatch({ intervalMs: watch.intervalMs, paths, changed: () => this.read(watch) });
    this.files.start();
  }

  stop(): void {
    this.files?.stop();
  }

  private async read(watch: DirectoryWatch): Promise<void> {
    const before = this.known;
    try {
      const files = await readFiles(this.directory);
      this.known = JSON.stringify(files);
      if (this.known !== before) watch.onChange(parse(files));
    } catch (error) {
      if (!(error instanceof EnvoyConfigurationError)) throw error;
      watch.onError(error);
    }
  }
}
