import type { ClientBase } from 'pg';
import { copyAdopted, makeWay, SchemaError } from './adopt.js';
import { migrations } from './migrations.js';

/** Any number will do that every instance takes and no other program does. */
const MIGRATION_LOCK = 8_180_339_887;

/**
 * Brings the schema up to date. Several instances may do this at once: one holds the lock, the others wait for it and
 * then find nothing left to do. All steps and the record of them commit together.
 */
export async function migrate(client: ClientBase, adopts = false): Promise<void> {
  // A step may take as long as it needs, whatever is usual for this user.
  await client.query('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
  try {
    await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await client.query(
      'CREATE TABLE IF NOT EXISTS count_migrations ' +
        '(step integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const { rows } = await client.query<{ applied: number }>('SELECT count(*)::int AS applied FROM count_migrations');
    const applied = rows[0]!.applied;
    if (applied > migrations.length) {
      throw new SchemaError(
        `the database is at schema step ${applied}; this version of QuotaDB knows ${migrations.length}: ` +
          'use a newer one',
      );
    }
    const isAdopting = applied === 0 && (await makeWay(client, adopts));
    for (let step = applied; step < migrations.length; step++) {
      await client.query(migrations[step]!);
      await client.query('INSERT INTO count_migrations (step) VALUES ($1)', [step + 1]);
    }
    if (isAdopting) await copyAdopted(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
