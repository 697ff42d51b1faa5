/**
 * What a failed statement means for the change it carried.
 *
 *   refused      PostgreSQL said no to the data, and will again: something in the statement spoils it.
 *   conflict     PostgreSQL let another transaction go first (serialization failure, deadlock): nothing was applied,
 *                and the same statement will do. Stricter isolation levels and distributed databases answer so every
 *                day.
 *   transient    PostgreSQL said no, nothing was applied, and another attempt may succeed.
 *   unreachable  There was no connection to send it on: nothing was applied.
 *   unknown      The connection went away while the statement was out. It may have been committed.
 */
export type Failure = 'refused' | 'conflict' | 'transient' | 'unreachable' | 'unknown';

/** Raised by the adapter when it could not get a connection, so that nothing was ever sent. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('no connection to PostgreSQL', { cause });
    this.name = 'UnreachableError';
  }
}

/** Classes whose errors lie in the data of the statement. */
const DATA_CODES = /^(21|22|23)/;

const CONFLICT_CODES = new Set(['40001', '40P01']);

/** A count was deleted while its components were being folded. The next attempt finds it missing. */
const FOREIGN_KEY_VIOLATION = '23503';

/** With these a session can be at its end, or PostgreSQL itself says that it does not know. */
const UNKNOWN_CODES = /^(08|57P|58|XX|40003)/;

export function classifyFailure(error: unknown): Failure {
  if (error instanceof UnreachableError) return 'unreachable';
  const { code, severity } = (error ?? {}) as { code?: string; severity?: string };
  // An ERROR ends the statement's transaction and leaves the session alive. A FATAL or PANIC may follow the commit.
  if (severity !== 'ERROR' || code === undefined || UNKNOWN_CODES.test(code)) return 'unknown';
  if (CONFLICT_CODES.has(code)) return 'conflict';
  if (code === FOREIGN_KEY_VIOLATION) return 'transient';
  return DATA_CODES.test(code) ? 'refused' : 'transient';
}

/** A lock that another session holds, or the statement timeout spent waiting for one. */
export function isLockTimeout(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string };
  return code === '55P03' || code === '57014';
}

/**
 * After a failover the session may sit on a server that only reads; another connection may find the one that writes.
 */
export function isWrongServer(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === '25006';
}
