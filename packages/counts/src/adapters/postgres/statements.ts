import { INT64_MAX, INT64_MIN } from '../../domain/int64.js';

/**
 * Every statement that touches a count. Ids come sorted, so that all of them lock rows in one order; see connection.ts
 * for why the planner follows it.
 */

/**
 * One row per item. `assigned` items take the amount as their value; the others add it, but only where every running
 * value in between, from `lowest` (at most 0) to `highest` (at least 0) away from the present one, stays inside 64
 * bits.
 */
export const APPLY_RUNS = `
  UPDATE count_values AS counted
  SET current_value = CASE WHEN run.assigned THEN run.amount ELSE counted.current_value + run.amount END,
      last_updated_at = now(), room = NULL
  FROM (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[])
      AS runs (item_id, amount, lowest, highest, assigned)
    ORDER BY item_id COLLATE "C"
  ) AS run
  WHERE counted.item_id = run.item_id AND counted.current_value >= '${INT64_MIN}'::bigint - run.lowest
    AND counted.current_value <= '${INT64_MAX}'::bigint - run.highest
  RETURNING counted.item_id, counted.current_value`;

export const PRESENT_VALUES = 'SELECT item_id, current_value FROM count_values WHERE item_id = ANY ($1::text[])';

/** Which rows another session holds at this moment. */
export const WHICH_ARE_LOCKED = `
  WITH free AS (
    SELECT item_id FROM count_values WHERE item_id = ANY ($1::text[]) FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT item_id FROM count_values WHERE item_id = ANY ($1::text[]) EXCEPT SELECT item_id FROM free`;

export const FIND_COUNTS =
  'SELECT item_id, current_value, last_updated_at FROM count_values WHERE item_id = ANY ($1::text[])';

export const CREATE_COUNT = `
  INSERT INTO count_values (item_id, current_value) VALUES ($1, $2)
  ON CONFLICT (item_id) DO NOTHING RETURNING current_value, last_updated_at`;

export const REMOVE_COUNT = 'DELETE FROM count_values WHERE item_id = $1';

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
  DELETE FROM count_requests WHERE idempotency_key IN (
    SELECT idempotency_key FROM count_requests
    WHERE created_at < now() - make_interval(secs => $1) ORDER BY created_at LIMIT $2
    FOR UPDATE SKIP LOCKED
  )`;

/**
 * The growth of each component since it was last folded goes to its count; an older state changes nothing.
 * `last_folded` is how the conflict clause hands the difference out: PostgreSQL before 18 cannot return the row as it
 * was.
 */
export const FOLD_COMPONENTS = `
  WITH folded AS (
    INSERT INTO count_components AS kept (item_id, origin, life, increments, decrements, last_folded)
    SELECT fed.item_id, fed.origin, fed.life, fed.increments, fed.decrements,
           fed.increments::numeric - fed.decrements::numeric
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
      AS fed (item_id, origin, life, increments, decrements)
    WHERE EXISTS (SELECT FROM count_values AS counted WHERE counted.item_id = fed.item_id)
    ORDER BY fed.item_id COLLATE "C", fed.origin COLLATE "C"
    ON CONFLICT (item_id, origin) DO UPDATE SET
      life = excluded.life,
      increments = CASE WHEN excluded.life > kept.life THEN excluded.increments
                        ELSE greatest(kept.increments, excluded.increments) END,
      decrements = CASE WHEN excluded.life > kept.life THEN excluded.decrements
                        ELSE greatest(kept.decrements, excluded.decrements) END,
      last_folded = CASE WHEN excluded.life > kept.life THEN excluded.last_folded
                         ELSE greatest(excluded.increments::numeric - kept.increments::numeric, 0)
                            - greatest(excluded.decrements::numeric - kept.decrements::numeric, 0) END
      WHERE excluded.life > kept.life
         OR (excluded.life = kept.life
             AND (excluded.increments > kept.increments OR excluded.decrements > kept.decrements))
    RETURNING item_id, last_folded
  ),
  totals AS (SELECT item_id, sum(last_folded) AS amount FROM folded GROUP BY item_id ORDER BY item_id)
  UPDATE count_values AS counted
  SET current_value = (counted.current_value + totals.amount)::bigint, last_updated_at = now(), room = NULL
  FROM totals WHERE counted.item_id = totals.item_id
  RETURNING counted.item_id, counted.current_value`;
