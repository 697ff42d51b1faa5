/**
 * The schema, as steps that are applied once each, in order, and never edited after release.
 *
 * count_values      the counts. Collation "C" makes the index compare bytes and gives every statement one lock order.
 *                   Pages keep room for new versions of their rows, so that an update needs no index entry (HOT). A low
 *                   fillfactor alone would do that too, but PostgreSQL cleans a page at every visit while less than the
 *                   fillfactor's share of it is free, which cost a third of an update. So a row is born with `room`, a
 *                   piece of nothing that its first change gives up, and pages are cleaned only when nearly full.
 * count_requests    the answer to each idempotency key, written in the transaction of the change itself.
 * count_components  the folded state of each origin's component (the bridge); it goes with its count.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE count_values (
    item_id text COLLATE "C" PRIMARY KEY,
    current_value bigint NOT NULL DEFAULT 0,
    last_updated_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

  -- The service's own statements set last_updated_at and never pay for the trigger; it is for changes made by hand.
  CREATE FUNCTION count_values_touch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.last_updated_at = now();
    RETURN NEW;
  END $$;
  CREATE TRIGGER count_values_touch BEFORE UPDATE ON count_values FOR EACH ROW
    WHEN (OLD.last_updated_at IS NOT DISTINCT FROM NEW.last_updated_at)
    EXECUTE FUNCTION count_values_touch();

  CREATE TABLE count_requests (
    idempotency_key text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    outcome text,
    value bigint,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX count_requests_created_at ON count_requests (created_at);

  CREATE TABLE count_components (
    item_id text COLLATE "C" NOT NULL REFERENCES count_values ON DELETE CASCADE,
    origin text COLLATE "C" NOT NULL,
    life bigint NOT NULL,
    increments bigint NOT NULL,
    decrements bigint NOT NULL,
    last_folded numeric NOT NULL,
    PRIMARY KEY (item_id, origin)
  );
  `,
  `
  ALTER TABLE count_values
    ADD COLUMN room text COLLATE "C" DEFAULT repeat(' ', 64),
    ALTER COLUMN room SET STORAGE PLAIN,
    SET (fillfactor = 90);

  -- A trigger before the update makes PostgreSQL lock and log every row once more; one after it costs next to nothing.
  DROP TRIGGER count_values_touch ON count_values;
  CREATE OR REPLACE FUNCTION count_values_touch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE count_values SET last_updated_at = now() WHERE item_id = NEW.item_id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER count_values_touch AFTER UPDATE ON count_values FOR EACH ROW
    WHEN (OLD.last_updated_at IS NOT DISTINCT FROM NEW.last_updated_at AND NEW.last_updated_at <> now())
    EXECUTE FUNCTION count_values_touch();
  `,
  `
  -- Functions keep their plans with the connection, also where a pooler lends it to others. Rows must be visited in the
  -- order of their ids, or two instances would deadlock over the same items: with these settings, which hold inside the
  -- function only, the planner has only the index to walk.

  -- One row per item. "assigned" items take the amount as their value; the others add it, but only where every running
  -- value in between, from "lowest" (at most 0) to "highest" (at least 0) away from the present one, stays inside 64
  -- bits.
  CREATE FUNCTION count_apply_runs(text[], bigint[], bigint[], bigint[], boolean[])
    RETURNS TABLE (changed_item text, new_value bigint) LANGUAGE plpgsql
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off AS $$
  BEGIN
    RETURN QUERY
    UPDATE count_values AS counted
    SET current_value = CASE WHEN run.assigned THEN run.amount ELSE counted.current_value + run.amount END,
        last_updated_at = now(), room = NULL
    FROM (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[])
        AS runs (item_id, amount, lowest, highest, assigned)
      ORDER BY item_id COLLATE "C"
    ) AS run
    WHERE counted.item_id = run.item_id AND counted.current_value >= '-9223372036854775808'::bigint - run.lowest
      AND counted.current_value <= '9223372036854775807'::bigint - run.highest
    RETURNING counted.item_id, counted.current_value;
  END $$;

  -- The growth of each component since it was last folded goes to its count; an older state changes nothing.
  -- "last_folded" is how the conflict clause hands the difference out: PostgreSQL before 18 cannot return the row as it
  -- was.
  CREATE FUNCTION count_fold_components(text[], text[], bigint[], bigint[], bigint[])
    RETURNS TABLE (changed_item text, new_value bigint) LANGUAGE plpgsql
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off AS $$
  BEGIN
    RETURN QUERY
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
    RETURNING counted.item_id, counted.current_value;
  END $$;
  `,
];
