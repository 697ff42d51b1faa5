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
];
