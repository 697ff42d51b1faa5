import { type AudienceTokens, CountsTokens, type CountsTokensOptions } from '../adapters/http/counts-tokens.js';
import { HttpFastPath } from '../adapters/http/fast-path/http-fast-path.js';
import { MemoryRepository } from '../adapters/memory/memory-repository.js';
import type { CountValueRepository } from '../domain/ports/count-value-repository.js';
import { externalCountUpdateApi, internalCountValueApi } from '../domain/use-cases/use-cases.js';
import { TestServer, type TestServerOptions } from './test-server.js';

export interface MemoryServerOptions extends TestServerOptions, CountsTokensOptions {
  readonly repository?: CountValueRepository;
  readonly tokens?: AudienceTokens;
}

/** The HTTP adapter on a real server, with the record in memory. */
export function startMemoryServer(options: MemoryServerOptions = {}): Promise<TestServer> {
  const { repository = new MemoryRepository(), onError = (error: unknown) => void Promise.reject(error) } = options;
  const tokens = new CountsTokens(options.tokens, options);
  const api = { external: externalCountUpdateApi(repository), internal: internalCountValueApi(repository) };
  const fastPath = new HttpFastPath({ api, tokens, onError });
  return TestServer.start(
    { api, tokens, accelerate: (server, sites) => fastPath.attach(server, sites) },
    { ...options, onError },
  );
}
