import { duration } from '../kinds/duration.js';
import type { Feed } from '../kinds/kinds.js';
import { feeds, integer, list, text, yesOrNo } from '../kinds/kinds.js';
import { setting } from './setting.js';

/** Settings of the counts API and its PostgreSQL. */
export const countsSettings = {
  postgresUrl: setting({
    flag: 'postgres',
    kind: text('url', /^(?:postgres(?:ql)?:\/\/.*)?$/s, 'postgresql://user:password@host:port,…/database?sslmode=…'),
    default: '',
    help:
      'the PostgreSQL that stores the counts, of several hosts the one that can write; without a URL, an embedded ' +
      'one starts with the first use of the counts API, on disk where --data is set',
    secret: true,
  }),
  countsAdopt: setting({
    flag: 'counts-adopt',
    kind: yesOrNo(),
    default: false,
    help:
      'take over a table count_values that another program made: its counts are copied once, and it is kept as ' +
      'count_values_adopted',
  }),
  postgresStatements: setting({
    flag: 'postgres-statements',
    kind: integer('count', 1, 32),
    default: 2,
    help: 'concurrent statements that change counts, each on its own connection',
  }),
  postgresConnections: setting({
    flag: 'postgres-connections',
    kind: integer('count', 1, 100),
    default: 4,
    help: 'further connections, for reading, creating and deleting counts',
  }),
  countsTokens: setting({
    flag: 'counts-token',
    kind: list('token', 'any text without commas; may be given several times'),
    default: [] as readonly string[],
    help:
      'a token for "Authorization: Bearer …" that may change counts, and count in windows and against limits; needed ' +
      'where other machines can reach the port',
    secret: true,
  }),
  countsInternalTokens: setting({
    flag: 'counts-internal-token',
    kind: list('token', 'any text without commas; may be given several times'),
    default: [] as readonly string[],
    help: 'a token that may create, read, set and delete counts',
    secret: true,
  }),
  idempotencyWindowHours: setting({
    flag: 'idempotency-window',
    kind: duration('hours', 1, 720),
    default: 24,
    help: 'how long an Idempotency-Key of the counts API is kept',
  }),
  feeds: setting({
    flag: 'feed',
    kind: feeds(),
    default: [] as readonly Feed[],
    help: 'a count that is fed by a counter: increments of the key in all regions are added to the count exactly once',
  }),
  feedIntervalMs: setting({
    flag: 'feed-interval',
    kind: duration('milliseconds', 10, 3_600_000),
    default: 1_000,
    help: 'how often counters that feed a count are read',
  }),
};
