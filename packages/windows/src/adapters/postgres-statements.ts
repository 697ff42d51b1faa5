/**
 * The statements of the PostgreSQL adapter.
 *
 *   column         | type
 *   ---------------|--------------------------------------------------------------------------------
 *   key            | bytea, the key in UTF-8
 *   start_ms       | bigint
 *   duration_ms    | bigint; these three are the primary key
 *   count          | bigint
 *   expires_at_ms  | bigint, the end of the window and a margin; indexed for the deletion
 *
 * Rows are updated in place as often as a window is counted in, so pages keep room for the next version of a row, and
 * no index is on what changes.
 */
export function statementsFor(table: string) {
  const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
  const isRow = 'key = $1 AND start_ms = $2 AND duration_ms = $3';
  return {
    /** Two sessions that make the same table at once would hinder each other, IF NOT EXISTS or not: one waits. */
    prepare: `
      DO $$ BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('quotadb window store ${table}'));
        CREATE TABLE IF NOT EXISTS ${table} (
          key bytea NOT NULL,
          start_ms bigint NOT NULL,
          duration_ms bigint NOT NULL,
          count bigint NOT NULL,
          expires_at_ms bigint NOT NULL,
          PRIMARY KEY (key, start_ms, duration_ms)
        ) WITH (fillfactor = 70);
        CREATE INDEX IF NOT EXISTS ${table}_expires_at ON ${table} (expires_at_ms);
      END $$`,
    increment: `
      INSERT INTO ${table} AS held (key, start_ms, duration_ms, count, expires_at_ms)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (key, start_ms, duration_ms) DO UPDATE SET count = held.count + EXCLUDED.count
      RETURNING count`,
    read: `SELECT count FROM ${table} WHERE ${isRow} AND expires_at_ms > ${nowMs}`,
    expiry: `
      SELECT expires_at_ms - ${nowMs} AS remaining_ms FROM ${table}
      WHERE ${isRow} AND expires_at_ms > ${nowMs}`,
    /** Rows that another session is deleting are left to it. */
    deleteExpired: `
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE expires_at_ms <= ${nowMs}
        ORDER BY expires_at_ms LIMIT $1 FOR UPDATE SKIP LOCKED))`,
  };
}
