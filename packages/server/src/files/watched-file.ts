import { readFile } from 'node:fs/promises';
import type { Mistake } from '@quotadb/wire/documents';
import { printMistakes } from '@quotadb/wire/documents';
import { FileWatch } from '@quotadb/wire/files';
import type { Logger } from 'pino';

/** A change is read when the file has stood still for as long. */
const LOOK_MS = 500;

export interface WatchedFileOptions<Content> {
  readonly path: string;
  readonly logger: Logger;
  /** The log lines of a content that is in force, and of one that is not. */
  readonly inForce: string;
  readonly refused: string;
  /** Throws an error, which may have `mistakes`. */
  readonly read: (text: string) => Content;
  /** Puts it into force; resolves with the reason where that is refused for now. */
  readonly replace: (content: Content, isAtStart: boolean) => Promise<string | undefined>;
  /** For the log line that it is in force. */
  readonly describe: (content: Content) => object;
  /** A content that was refused for now is tried again after this. */
  readonly againMs: number;
}

/** What became of the file, for metrics. */
export interface WatchedFileFigures {
  loaded: number;
  refused: number;
  /** In the file as it was last read; an earlier content is in force while there are some. */
  mistakes: number;
}

/**
 * A file that people write: read at the start, whenever its content has changed, and when it is asked to. One with
 * mistakes changes nothing.
 */
export class WatchedFile<Content> {
  readonly figures: WatchedFileFigures = { loaded: 0, refused: 0, mistakes: 0 };
  private readonly options: WatchedFileOptions<Content>;
  private readonly watch: FileWatch;
  /** As it was last read. */
  private text: string | undefined = undefined;
  private reported = '';
  private waiting: NodeJS.Timeout | undefined = undefined;
  private work: Promise<readonly string[]> = Promise.resolve([]);

  constructor(options: WatchedFileOptions<Content>) {
    this.options = options;
    this.watch = new FileWatch({
      intervalMs: LOOK_MS,
      paths: () => [options.path],
      changed: async () => void (await this.read(false)),
    });
  }

  /** Resolves when the file has been read for the first time, with its mistakes. */
  async start(): Promise<readonly string[]> {
    await this.watch.take();
    this.watch.start();
    return this.read(true);
  }

  /** Reads it again, also where its content is the same: what was refused may be accepted now. */
  reload(): Promise<readonly string[]> {
    this.text = undefined;
    this.reported = '';
    return this.read(false);
  }

  stop(): void {
    this.watch.stop();
    clearTimeout(this.waiting);
  }

  /** One after another: an earlier content never takes the place of a later one. */
  private read(isAtStart: boolean): Promise<readonly string[]> {
    this.work = this.work.then(() => this.readNow(isAtStart));
    return this.work;
  }

  private async readNow(isAtStart: boolean): Promise<readonly string[]> {
    const { path, read, replace, describe, logger, inForce } = this.options;
    try {
      const text = await readFile(path, 'utf8');
      if (text === this.text) return [];
      this.text = text;
      const content = read(text);
      const reason = await replace(content, isAtStart);
      if (reason !== undefined) {
        this.tryAgain(isAtStart);
        return this.refuse([reason]);
      }
      this.figures.loaded++;
      this.figures.mistakes = 0;
      this.reported = '';
      logger.info({ file: path, ...describe(content) }, inForce);
      return [];
    } catch (error) {
      const { mistakes, message } = error as Error & { readonly mistakes?: readonly Mistake[] };
      return this.refuse(mistakes === undefined ? [message] : printMistakes(mistakes));
    }
  }

  /** The file is right, but its time has not come: something may be missing that it needs. */
  private tryAgain(isAtStart: boolean): void {
    this.text = undefined;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.read(isAtStart), this.options.againMs);
    this.waiting.unref();
  }

  private refuse(mistakes: readonly string[]): readonly string[] {
    const { path, logger, refused } = this.options;
    this.figures.refused++;
    this.figures.mistakes = mistakes.length;
    // One that is tried again is reported once.
    const report = mistakes.join('\n');
    if (report !== this.reported) logger.error({ file: path, mistakes }, refused);
    this.reported = report;
    return mistakes;
  }
}
