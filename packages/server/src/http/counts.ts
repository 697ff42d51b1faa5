import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { Need } from '@quotadb/config';
import { type AudienceTokens, type CountsService, createCountsService } from '@quotadb/counts';
import { isLoopbackHost } from '@quotadb/replication/plaintext';
import type { Logger } from 'pino';
import type { HttpAccess } from '../access/http-access.js';
import type { CountsWatch } from '../metrics/counts-watch.js';

const HOUR_MS = 60 * 60 * 1_000;

/** The counts service as this server is configured. Nothing of it runs before it is first used. */
export function createCounts(
  config: Configuration,
  logger: Logger,
  access: Pick<HttpAccess, 'byBearerToken'>,
  watch: CountsWatch,
): CountsService {
  const tokens = audienceTokens(config);
  if (tokens !== undefined && tokens.external.length + tokens.internal.length + config.users.size === 0) {
    logger.warn('the counts API is closed: other machines can reach it and there is no --counts-token');
  }
  return createCountsService({
    directory: config.dataDirectory === '' ? undefined : join(config.dataDirectory, 'postgres'),
    postgres: config.postgresUrl === '' ? undefined : { connectionString: config.postgresUrl },
    adopts: config.countsAdopt,
    tokens,
    mayCall: (token, audience) => {
      const user = access.byBearerToken(token);
      return user !== undefined && (user.lacks & (audience === 'internal' ? Need.admin : Need.write)) === 0;
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

/** Undefined, which is open to all, only where all are on this machine and neither tokens nor users are configured. */
function audienceTokens(config: Configuration): AudienceTokens | undefined {
  const tokens = { external: config.countsTokens, internal: config.countsInternalTokens };
  const isOpen =
    isLoopbackHost(config.host) && tokens.external.length + tokens.internal.length === 0 && config.users.size === 0;
  return isOpen ? undefined : tokens;
}

/** The reason behind the reason is what helps: "connect ECONNREFUSED …". */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : (error.stack ?? error.message);
}
