import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MapDocument, mapOf } from '@quotadb/cluster';
import { writeWholeFile } from '@quotadb/storage';
import type { Logger } from 'pino';

/**
 * `cluster-map.json` in the data directory: the map that was last in force, for a start while etcd is away. A backup
 * leaves it out.
 */
const FILE = 'cluster-map.json';

export class KeptMap {
  private readonly directory: string;
  private readonly logger: Logger;

  /** Nothing is kept where the directory is empty. */
  constructor(directory: string, logger: Logger) {
    this.directory = directory;
    this.logger = logger;
  }

  get path(): string {
    return join(this.directory, FILE);
  }

  load(): MapDocument | undefined {
    if (this.directory === '') return undefined;
    try {
      const document = JSON.parse(readFileSync(this.path, 'utf8')) as MapDocument;
      mapOf(document);
      return document;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.logger.error(
          { err: error, file: this.path },
          'the kept cluster map cannot be read: only that of etcd holds',
        );
      return undefined;
    }
  }

  /** False where that is not possible. */
  save(document: MapDocument): boolean {
    if (this.directory === '') return true;
    try {
      writeWholeFile(this.directory, FILE, `${JSON.stringify(document, undefined, 1)}\n`);
      return true;
    } catch (error) {
      this.logger.error(
        { err: error },
        'the cluster map could not be kept: a start while etcd is away has an older one, and no slots move',
      );
      return false;
    }
  }
}
