import type pg from 'pg';
import { ANSWER_GRACE_MS, CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './bounds.js';

/** Where PostgreSQL is and how to reach it. A URL may carry TLS settings (`sslmode`, `sslrootcert`, …) itself. */
export interface ConnectionOptions {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
  readonly ssl?: pg.ClientConfig['ssl'];
}

export function clientConfig(options: ConnectionOptions): pg.ClientConfig {
  return {
    ...options,
    application_name: 'quotadb-counts',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS,
    keepAlive: true,
  };
}
