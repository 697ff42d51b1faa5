/**
 * Every queue, write and wait of this adapter has an end. A request waits at most the queue deadline before its
 * statement is sent, then at most the statement timeout and the answer grace for its result.
 */

/**
 * How long a change may wait for its turn. Long enough to ride out a failover's first seconds, short enough for
 * callers.
 */
export const QUEUE_DEADLINE_MS = 3_000;

/** PostgreSQL itself gives up a statement after this, which leaves no doubt that nothing was applied. */
export const STATEMENT_TIMEOUT_MS = 2_000;

/** How long a statement waits for a row that another session holds. Ours hold them for one commit. */
export const LOCK_TIMEOUT_MS = 300;

/** How long a row found locked is left alone before its changes are sent again. */
export const LOCKED_ITEM_PAUSE_MS = 100;

/**
 * After the statement timeout, how much longer to wait for PostgreSQL to say so before the connection counts as dead.
 */
export const ANSWER_GRACE_MS = 1_000;

export const CONNECT_TIMEOUT_MS = 2_000;

/** For each statement that brings the schema up to date, the wait for another instance that is at it included. */
export const MIGRATION_TIMEOUT_MS = 60_000;

/** Changes waiting in this process. At 20,000 a second this is one second's worth: more could not be served in time. */
export const MAX_QUEUED_CHANGES = 20_000;

/**
 * Items remembered though nothing of them waits, about 200 bytes each. More than can wait, so that some are always
 * idle.
 */
export const MAX_KNOWN_ITEMS = 2 * MAX_QUEUED_CHANGES;

/** Items in one statement. Larger writes save round trips but hold their row locks longer against other instances. */
export const MAX_WRITE_ITEMS = 256;

/** Changes of one item in one statement; they cost the database a single row however many they are. */
export const MAX_RUN_CHANGES = 1_024;

/** Statements in flight. One waits for its commit to reach the disk while the next is being gathered. */
export const WRITER_CONNECTIONS = 2;

/**
 * Beside a statement in flight, how many items must wait before another is sent, and how long they wait for more at
 * most. A statement costs the database about as much as twenty rows; ours take 1 to 3 ms, so one that takes longer is
 * stuck.
 */
export const MIN_PARALLEL_ITEMS = 32;
export const MAX_GATHER_MS = 5;

/** How often waiting changes are checked against their deadlines. */
export const EXPIRY_INTERVAL_MS = 100;

/** How often a writer that is closing looks whether everything has been answered. */
export const CLOSE_POLL_MS = 5;

/** Connections for reads, creations and deletions, and how many callers may wait for one. */
export const QUERY_CONNECTIONS = 4;
export const MAX_WAITING_QUERIES = 1_000;

/**
 * Between attempts to reach a database that is away, and between attempts of a write that lost a conflict: doubling
 * from the first to the second. A conflict is over when the other's transaction is, after a few milliseconds.
 */
export const RECONNECT_MIN_MS = 25;
export const RECONNECT_MAX_MS = 500;
export const CONFLICT_MIN_MS = 2;
export const CONFLICT_MAX_MS = 100;

/**
 * Conflicts in a row on one connection before they are reported as trouble; by then the pauses are at their longest.
 */
export const LASTING_CONFLICTS = 8;

/** How long an idempotency key is remembered, how often old ones are looked for, and how many go at a time. */
export const IDEMPOTENCY_WINDOW_MS = 24 * 60 * 60 * 1_000;
export const CLEANUP_INTERVAL_MS = 60_000;
export const CLEANUP_CHUNK_ROWS = 5_000;

/** Components folded by one statement. */
export const MAX_FOLD_COMPONENTS = 1_000;
