import type pg from 'pg';
import { ANSWER_GRACE_MS, CONNECT_TIMEOUT_MS, LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './bounds.js';

/** Where PostgreSQL is and how to reach it. A URL may carry TLS settings (`sslmode`, `sslrootcert`, …) itself. */
export interface ConnectionOptions {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
  readonly ssl?: pg.ClientConfig['ssl'];
}

/**
 * The plans of our statements must visit rows in the order of their ids, or two instances would deadlock over the same
 * items. With these the planner has only the index to walk, and PostgreSQL gives up a statement on its own clock.
 */
const SESSION_SETTINGS = [
  'SET enable_hashjoin = off',
  'SET enable_mergejoin = off',
  'SET enable_seqscan = off',
  'SET jit = off',
  `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  `SET lock_timeout = ${LOCK_TIMEOUT_MS}`,
  `SET idle_in_transaction_session_timeout = ${STATEMENT_TIMEOUT_MS}`,
].join('; ');

export function clientConfig(options: ConnectionOptions): pg.ClientConfig {
  return {
    ...options,
    application_name: 'quotadb-counts',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + ANSWER_GRACE_MS,
    keepAlive: true,
  };
}

export async function prepareSession(client: pg.ClientBase): Promise<void> {
  await client.query(SESSION_SETTINGS);
}
