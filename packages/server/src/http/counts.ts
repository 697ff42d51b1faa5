import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { Need } from '@quotadb/config';
import { type CountsService, createCountsService } from '@quotadb/counts';
import type { Logger } from 'pino';
import type { HttpAccess } from '../access/http-access.js';
import type { CountsWatch } from '../metrics/counts-watch.js';

const HOUR_MS = 60 * 60 * 1_000;

/** The counts service as this server is configured. Nothing of it runs before it is first used. */
export function createCounts(
  config: Configuration,
  logger: Logger,
  access: Pick<HttpAccess, 'isOpen' | 'byBearerToken'>,
  watch: CountsWatch,
): CountsService {
  return createCountsService({
    directory: config.dataDirectory === '' ? undefined : join(config.dataDirectory, 'postgres'),
    postgres: config.postgresUrl === '' ? undefined : { connectionString: config.postgresUrl },
    adopts: config.countsAdopt,
    tokens: { external: config.countsTokens, internal: config.countsInternalTokens },
    isOpen: () => access.isOpen,
    userOf: (token, audience) => {
      const user = access.byBearerToken(token);
      const isAllowed = user !== undefined && (user.lacks & (audience === 'internal' ? Need.admin : Need.write)) === 0;
      return isAllowed ? user : undefined;
    },
    writerConnections: config.postgresStatements,
    queryConnections: config.postgresConnections,
    idempotencyWindowMs: config.idempotencyWindowHours * HOUR_MS,
    onError: (error) => logger.error({ error: describe(error) }, 'a request to the counts API failed'),
    onTrouble: (error) => {
      watch.trouble = describe(error);
      logger.warn({ error: watch.trouble }, 'PostgreSQL cannot be written to');
    },
    observer: watch,
    onDatabaseLog: (text) => logger.debug({ text }, 'PostgreSQL'),
  });
}

/** The reason behind the reason is what helps: "connect ECONNREFUSED …". */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : (error.stack ?? error.message);
}
