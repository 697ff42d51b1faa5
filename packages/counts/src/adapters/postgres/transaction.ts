import type { ClientBase } from 'pg';
import { CountError } from '../../domain/count-error.js';
import { classifyFailure } from './failure.js';
import { type RunStatement, type Statement, TRANSACTION_SETTINGS } from './statement.js';

/** The transaction certainly was not committed, whatever became of the connection. */
export class NotCommittedError extends Error {
  constructor(cause: unknown) {
    super('the transaction was not committed', { cause });
    this.name = 'NotCommittedError';
  }
}

const BEGIN = ['BEGIN', ...TRANSACTION_SETTINGS.map(([name, value]) => `SET LOCAL ${name} = ${value}`)].join('; ');

/**
 * Runs the work in a transaction. If it fails before COMMIT was sent, PostgreSQL cannot have committed it, even when
 * the connection is gone; only a failure of COMMIT itself leaves a doubt.
 */
export async function inTransaction<Result>(
  client: ClientBase,
  work: (run: RunStatement) => Promise<Result>,
): Promise<Result> {
  const run = async <Row extends readonly unknown[]>({ text, values }: Statement) =>
    (await client.query({ text, values: [...values], rowMode: 'array' })).rows as unknown as Row[];
  let result: Result;
  try {
    await client.query(BEGIN);
    result = await work(run);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    if (error instanceof CountError || classifyFailure(error) !== 'unknown') throw error;
    throw new NotCommittedError(error);
  }
  const { command } = await client.query('COMMIT');
  // A transaction that has failed ends with ROLLBACK, and PostgreSQL does not call that an error.
  if (command !== 'COMMIT') throw new NotCommittedError(new Error(`COMMIT was answered with ${command}`));
  return result;
}
