import { type Catalogue, readCatalogue } from '@quotadb/limits';
import type { Logger } from 'pino';
import { WatchedFile, type WatchedFileFigures } from '../files/watched-file.js';
import type { QuotaService } from '../quotas/service.js';
import type { LimitService } from './service.js';

/**
 * A catalogue that was refused for now, because regions are missing that the quotas need, is tried again after this.
 */
const AGAIN_MS = 5000;

interface LimitsFileOptions {
  readonly path: string;
  readonly limits: LimitService;
  readonly quotas: Pick<QuotaService, 'isHome' | 'home'>;
  /** There are no other regions. */
  readonly isAlone: boolean;
  readonly logger: Logger;
}

/** The catalogue in a file (--limits). Its limits are those of all regions: only the home of policies reads it. */
export class LimitsFile {
  private readonly options: LimitsFileOptions;
  private readonly file: WatchedFile<Catalogue>;

  constructor(options: LimitsFileOptions) {
    const { path, limits, logger } = options;
    this.options = options;
    this.file = new WatchedFile({
      path,
      logger,
      inForce: 'the limits of the file hold',
      refused: 'the file of limits is refused, the limits stay as they were: correct it',
      read: readCatalogue,
      replace: (catalogue, isAtStart) => limits.load(catalogue, isAtStart),
      describe: (catalogue) => ({ limits: catalogue.limits.length }),
      againMs: AGAIN_MS,
    });
  }

  get figures(): WatchedFileFigures {
    return this.file.figures;
  }

  async start(): Promise<void> {
    const { quotas, isAlone, logger } = this.options;
    if (quotas.isHome) {
      const read = this.file.start();
      // With other regions, the home may first have to hear which policies there were.
      if (isAlone) await read;
    } else
      logger.warn({ home: quotas.home }, 'the file of limits is not read here: it is for the home region of policies');
  }

  async reload(): Promise<void> {
    if (this.options.quotas.isHome) await this.file.reload();
  }

  stop(): void {
    this.file.stop();
  }
}
