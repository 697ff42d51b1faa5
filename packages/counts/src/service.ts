import { EmbeddedPostgres } from './adapters/embedded/embedded-postgres.js';
import { type CountsEndpoint, createCountsEndpoint } from './adapters/http/counts-endpoint.js';
import { FastLane } from './adapters/http/fast-lane/fast-lane.js';
import type { Audience, CountsApi } from './adapters/http/operation.js';
import { Gatekeeper, type RoleTokens } from './adapters/http/tokens.js';
import { ChangeWriter } from './adapters/postgres/change-writer.js';
import { PostgresComponentFeed } from './adapters/postgres/component-feed.js';
import type { ConnectionOptions } from './adapters/postgres/connection.js';
import { Database } from './adapters/postgres/database.js';
import type { CountsFigures, CountsObserver } from './adapters/postgres/observer.js';
import { PostgresRepository } from './adapters/postgres/postgres-repository.js';
import { RequestCleanup } from './adapters/postgres/request-cleanup.js';
import type { ComponentFeed } from './domain/ports/component-feed.js';
import { externalCountUpdateApi, internalCountValueApi } from './domain/use-cases/index.js';

export interface CountsServiceOptions {
  /** A PostgreSQL that is there already. Without one, an embedded one is started when it is first needed. */
  readonly postgres?: ConnectionOptions | undefined;
  /** Where the embedded one keeps its files; without a directory they are temporary. */
  readonly directory?: string | undefined;
  /** Without any, everybody who reaches the port may call everything; with empty lists, nobody may. */
  readonly tokens?: RoleTokens | undefined;
  /** Who else may call what, by bearer token; asked only where tokens are needed. */
  readonly mayCall?: ((token: string, audience: Audience) => boolean) | undefined;
  /** Connections for changes (statements in flight) and for everything else. */
  readonly changeLanes?: number | undefined;
  readonly queryConnections?: number | undefined;
  readonly idempotencyWindowMs?: number | undefined;
  /** Failures that were not foreseen. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Why the database could not be written to; once for each time it goes away. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
  /** What the embedded PostgreSQL says. */
  readonly onDatabaseLog?: ((text: string) => void) | undefined;
  readonly observer?: CountsObserver | undefined;
}

export interface CountsService {
  /** These parts of the API, to be served by a node:http server; there may be several, on different ports. */
  endpoint(audiences: readonly Audience[]): CountsEndpoint;
  /** Throws the problem that tells a caller with this Authorization header why it may not; for other APIs on the same port. */
  readonly admit: (authorization: string | undefined, audience: Audience) => void;
  /** The use cases, for callers in the same process. */
  readonly api: CountsApi;
  /** The bridge from replicated counters. */
  readonly feed: ComponentFeed;
  /** How it is now. Asking starts nothing. */
  figures(): CountsFigures;
  /** Connects to (or starts) PostgreSQL and brings its schema up to date now instead of on first use. */
  ready(): Promise<void>;
  /** Finishes what was accepted, then lets go of the database and stops the embedded one. */
  stop(): Promise<void>;
}

export function createCountsService(options: CountsServiceOptions = {}): CountsService {
  const embedded =
    options.postgres === undefined
      ? new EmbeddedPostgres({ directory: options.directory, onLog: options.onDatabaseLog })
      : undefined;
  const database = new Database(
    embedded === undefined ? async () => options.postgres! : () => embedded.start(),
    options.queryConnections,
  );
  const onTrouble = options.onTrouble ?? (() => undefined);
  const writer = new ChangeWriter(database, onTrouble, options.changeLanes, options.observer);
  const cleanup = new RequestCleanup(database, options.idempotencyWindowMs);
  const repository = new PostgresRepository(database, writer);
  const gatekeeper = new Gatekeeper(options.tokens, options.mayCall);
  const onError = options.onError ?? (() => undefined);
  const api = { external: externalCountUpdateApi(repository), internal: internalCountValueApi(repository) };
  const fastLane = new FastLane({ api, gatekeeper, onError });
  return {
    api,
    admit: (authorization, audience) => gatekeeper.admit(authorization, audience),
    feed: new PostgresComponentFeed(database),
    endpoint: (audiences) => createCountsEndpoint({ api, audiences, gatekeeper, onError, fastLane }),
    figures: () => ({
      waiting: writer.waiting,
      statementsInFlight: writer.statementsInFlight,
      isInUse: database.isInUse,
      isEmbedded: embedded !== undefined,
    }),
    ready: () => database.withConnection(async () => undefined),
    async stop() {
      fastLane.close();
      await cleanup.stop();
      await writer.close();
      await database.close();
      await embedded?.stop();
    },
  };
}
