import type { Server } from 'node:http';
import type { Sites } from '@quotadb/http';
import { EmbeddedPostgres } from './adapters/embedded/embedded-postgres.js';
import { type AudienceTokens, CountsTokens, type CountsTokensOptions } from './adapters/http/counts-tokens.js';
import { HttpFastPath } from './adapters/http/fast-path/http-fast-path.js';
import type { CountUseCases } from './adapters/http/operations.js';
import { ChangeWriter } from './adapters/postgres/change-writer.js';
import { PostgresComponentFeed } from './adapters/postgres/component-feed.js';
import type { ConnectionOptions } from './adapters/postgres/connection.js';
import { Database } from './adapters/postgres/database.js';
import type { CountsFigures, CountsObserver } from './adapters/postgres/observer.js';
import { PostgresRepository } from './adapters/postgres/postgres-repository.js';
import { RequestCleanup } from './adapters/postgres/request-cleanup.js';
import { Servers } from './adapters/postgres/servers.js';
import type { ComponentFeed } from './domain/ports/component-feed.js';
import { externalCountUpdateApi, internalCountValueApi } from './domain/use-cases/use-cases.js';

export interface CountsServiceOptions extends CountsTokensOptions {
  /** A PostgreSQL that runs already. Without one, an embedded one is started when it is first needed. */
  readonly postgres?: ConnectionOptions | undefined;
  /** Takes over a table of counts that another program made. */
  readonly adopts?: boolean | undefined;
  /** Where the embedded one keeps its files; without a directory they are temporary. */
  readonly directory?: string | undefined;
  /** Without any, the API is open to all who reach the port; with empty lists, it is closed. See `isOpen`. */
  readonly tokens?: AudienceTokens | undefined;
  /** Connections for changes (statements in flight) and for everything else. */
  readonly writerConnections?: number | undefined;
  readonly queryConnections?: number | undefined;
  readonly idempotencyWindowMs?: number | undefined;
  /** Faults of the service itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Why the database could not be written to; once for each time it goes away. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
  /** Log lines of the embedded PostgreSQL. */
  readonly onDatabaseLog?: ((text: string) => void) | undefined;
  readonly observer?: CountsObserver | undefined;
}

export interface CountsService {
  /** The use cases: the context of `countsApi`, and for callers in the same process. */
  readonly api: CountUseCases;
  readonly tokens: CountsTokens;
  /** Lets the plainest changes on this server's connections go past node:http, which still serves the rest. */
  accelerate(server: Server, sites: Sites): void;
  /** The bridge from replicated counters. */
  readonly feed: ComponentFeed;
  /** How it is now. Asking starts nothing. */
  figures(): CountsFigures;
  /** Connects to (or starts) PostgreSQL and brings its schema up to date now instead of on first use. */
  ready(): Promise<void>;
  /** Finishes the changes that were accepted, then lets go of the database and stops the embedded one. */
  stop(): Promise<void>;
}

export function createCountsService(options: CountsServiceOptions = {}): CountsService {
  const embedded =
    options.postgres === undefined
      ? new EmbeddedPostgres({ directory: options.directory, onLog: options.onDatabaseLog })
      : undefined;
  const database = new Database(
    embedded === undefined ? new Servers(options.postgres!) : { locate: () => embedded.start() },
    options.queryConnections,
    options.adopts,
  );
  const onTrouble = options.onTrouble ?? (() => undefined);
  const writer = new ChangeWriter(database, onTrouble, options.writerConnections, options.observer);
  const cleanup = new RequestCleanup(database, options.idempotencyWindowMs);
  const repository = new PostgresRepository(database, writer);
  const tokens = new CountsTokens(options.tokens, options);
  const onError = options.onError ?? (() => undefined);
  const api = { external: externalCountUpdateApi(repository), internal: internalCountValueApi(repository) };
  const fastPath = new HttpFastPath({ api, tokens, onError });
  return {
    api,
    tokens,
    accelerate: (server, sites) => fastPath.attach(server, sites),
    feed: new PostgresComponentFeed(database),
    figures: () => ({
      waiting: writer.waiting,
      statementsInFlight: writer.statementsInFlight,
      isInUse: database.isInUse,
      isEmbedded: embedded !== undefined,
    }),
    ready: () => database.withConnection(async () => undefined),
    async stop() {
      fastPath.close();
      await cleanup.stop();
      await writer.close();
      await database.close();
      await embedded?.stop();
    },
  };
}
