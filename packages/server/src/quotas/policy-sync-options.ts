import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { CatalogueReader } from '@quotadb/quota';
import type { Clock } from '@quotadb/resp';
import type { Logger } from 'pino';

export interface PolicySyncOptions {
  readonly config: Configuration;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly origin: Uint8Array;
  /** False where this incarnation of the replica has run before. */
  readonly isNewIncarnation: boolean;
  /** Undefined where the server keeps no catalogue of limits. */
  readonly catalogue?: CatalogueReader | undefined;
}
