import { createCountsEndpoint } from '../adapters/http/counts-endpoint.js';
import { FastLane } from '../adapters/http/fast-lane/fast-lane.js';
import type { Audience } from '../adapters/http/operation.js';
import { Gatekeeper, type RoleTokens } from '../adapters/http/tokens.js';
import { MemoryRepository } from '../adapters/memory/memory-repository.js';
import type { CountValueRepository } from '../domain/ports/count-value-repository.js';
import { externalCountUpdateApi, internalCountValueApi } from '../domain/use-cases/index.js';
import { TestServer } from './test-server.js';

export interface MemoryServerOptions {
  readonly fastLane: boolean;
  readonly repository?: CountValueRepository;
  readonly tokens?: RoleTokens;
  readonly audiences?: readonly Audience[];
  readonly onError?: (error: unknown) => void;
}

/** The HTTP adapter on a real server, with the record in memory. */
export function startMemoryServer(options: MemoryServerOptions): Promise<TestServer> {
  const repository = options.repository ?? new MemoryRepository();
  const shared = {
    api: { external: externalCountUpdateApi(repository), internal: internalCountValueApi(repository) },
    gatekeeper: new Gatekeeper(options.tokens),
    onError: options.onError ?? ((error: unknown) => Promise.reject(error)),
  };
  const audiences = options.audiences ?? ['external', 'internal'];
  const endpoint = createCountsEndpoint({ ...shared, audiences, fastLane: new FastLane(shared) });
  return TestServer.start(endpoint, options.fastLane);
}
