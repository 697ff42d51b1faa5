export { EmbeddedPostgres, type EmbeddedPostgresOptions } from './adapters/embedded/embedded-postgres.js';
export type { CountsEndpoint } from './adapters/http/counts-endpoint.js';
export { jsonInteger } from './adapters/http/exact-json.js';
export { countsOpenApi } from './adapters/http/openapi.js';
export type { Audience, CountsApi } from './adapters/http/operation.js';
export {
  type ProblemAnswer,
  ProblemError,
  type ProblemPart,
  problemAnswer,
  problemCodeOf,
} from './adapters/http/problem.js';
export { type ProblemCode, type ProblemKind, problems } from './adapters/http/problem-registry.js';
export { readJsonBody } from './adapters/http/request-body.js';
export { integer, problemDetails } from './adapters/http/schemas.js';
export type { RoleTokens } from './adapters/http/tokens.js';
export type { ConnectionOptions } from './adapters/postgres/connection.js';
export type { BatchReport, CountsFigures, CountsObserver } from './adapters/postgres/observer.js';
export type { ComponentFeed, FedComponent, FoldOutcome } from './domain/ports/component-feed.js';
export type { ComponentSource, CountedLife } from './feeder/component-source.js';
export { type Feed, Feeder, type FeederOptions } from './feeder/feeder.js';
export { type CountsService, type CountsServiceOptions, createCountsService } from './service.js';
