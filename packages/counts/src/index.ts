export { EmbeddedPostgres } from './adapters/embedded/embedded-postgres.js';
export { countsApi } from './adapters/http/counts-api.js';
export { type Audience, CountsTokens } from './adapters/http/counts-tokens.js';
export { countProblems, problemOfError } from './adapters/http/problems.js';
export { SchemaError } from './adapters/postgres/adopt.js';
export type { CountsFigures, CountsObserver, WriteReport } from './adapters/postgres/observer.js';
export type { ComponentFeed } from './domain/ports/component-feed.js';
export { Feeder } from './feeder/feeder.js';
export { type CountsService, createCountsService } from './service.js';
