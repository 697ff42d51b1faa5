/**
 * Every statement that touches a count. They are parsed anew each time (statement.ts says why), so the two that are
 * long are functions of the database, which keeps their plans.
 */

/** One row per item: see `count_apply_runs` in migrations.ts. */
export const APPLY_RUNS = 'SELECT changed_item, new_value FROM count_apply_runs($1, $2, $3, $4, $5)';

export const PRESENT_VALUES = 'SELECT item_id, current_value FROM count_values WHERE item_id = ANY ($1::text[])';

/** Which rows another session holds at this moment. */
export const WHICH_ARE_LOCKED = `
  WITH free AS (
    SELECT item_id FROM count_values WHERE item_id = ANY ($1::text[]) FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT item_id FROM count_values WHERE item_id = ANY ($1::text[]) EXCEPT SELECT item_id FROM free`;

export const FIND_COUNTS =
  'SELECT item_id, current_value, last_updated_at FROM count_values WHERE item_id = ANY ($1::text[])';

/** Two bounds and the collation "C" of the column: a walk along the index, however many counts there are. */
export const LIST_COUNTS = `
  SELECT item_id, current_value, last_updated_at FROM count_values
  WHERE item_id > $1 AND item_id >= $2 AND item_id < $3 ORDER BY item_id LIMIT $4`;

export const CREATE_COUNT = `
  INSERT INTO count_values (item_id, current_value) VALUES ($1, $2)
  ON CONFLICT (item_id) DO NOTHING RETURNING last_updated_at`;

export const REMOVE_COUNT = 'DELETE FROM count_values WHERE item_id = $1 RETURNING item_id';

/** Waits for another transaction that is claiming the same key, and then leaves it alone. */
export const CLAIM_REQUESTS = `
  INSERT INTO count_requests (idempotency_key, fingerprint)
  SELECT * FROM unnest($1::text[], $2::text[]) AS requests (idempotency_key, fingerprint)
  ORDER BY idempotency_key COLLATE "C"
  ON CONFLICT (idempotency_key) DO NOTHING RETURNING idempotency_key`;

export const RECALL_REQUESTS = `
  SELECT idempotency_key, fingerprint, outcome, value, created_at FROM count_requests
  WHERE idempotency_key = ANY ($1::text[])`;

export const REMEMBER_OUTCOMES = `
  UPDATE count_requests AS request SET outcome = result.outcome, value = result.value
  FROM unnest($1::text[], $2::text[], $3::bigint[]) AS result (idempotency_key, outcome, value)
  WHERE request.idempotency_key = result.idempotency_key`;

export const RELEASE_REQUESTS = 'DELETE FROM count_requests WHERE idempotency_key = ANY ($1::text[])';

export const FORGET_OLD_REQUESTS = `
  WITH forgotten AS (
    DELETE FROM count_requests WHERE idempotency_key IN (
      SELECT idempotency_key FROM count_requests
      WHERE created_at < now() - make_interval(secs => $1) ORDER BY created_at LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) RETURNING 1
  )
  SELECT count(*)::int FROM forgotten`;

/** The growth of each component since it was last folded goes to its count: see `count_fold_components` there. */
export const FOLD_COMPONENTS = 'SELECT changed_item, new_value FROM count_fold_components($1, $2, $3, $4, $5)';
