import { stat } from 'node:fs/promises';

export interface FileWatchOptions {
  readonly intervalMs: number;
  /** The files to look at; a directory has others from time to time. */
  readonly paths: () => Promise<readonly string[]> | readonly string[];
  /** The next look is taken when it has resolved. */
  readonly changed: () => Promise<void>;
}

/**
 * Looks at files at an interval, because notifications of the file system are not reliable where files are mounted. An
 * editor may be in the middle of writing, and files that belong together are replaced one after another: a change is
 * reported when all files have stood still since the last look.
 */
export class FileWatch {
  private readonly options: FileWatchOptions;
  /** The times and sizes that the last look has seen, and those that were last reported or taken. */
  private seen = '';
  private taken = '';
  private isStopped = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(options: FileWatchOptions) {
    this.options = options;
  }

  /** The files as they are now are not reported. */
  async take(): Promise<void> {
    this.taken = await this.stamp();
  }

  start(): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => void this.look().finally(() => this.start()), this.options.intervalMs);
    this.timer.unref();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    const stamp = await this.stamp();
    const hasStoodStill = stamp === this.seen;
    this.seen = stamp;
    if (!hasStoodStill || stamp === this.taken || this.isStopped) return;
    this.taken = stamp;
    await this.options.changed();
  }

  private async stamp(): Promise<string> {
    const stamps = (await this.options.paths()).map(async (path) => {
      const { mtimeMs, size, ino } = await stat(path).catch(() => ({ mtimeMs: 0, size: 0, ino: 0 }));
      return `${path} ${mtimeMs} ${size} ${ino}`;
    });
    return (await Promise.all(stamps)).join('\n');
  }
}
