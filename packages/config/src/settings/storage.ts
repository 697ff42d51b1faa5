import { MAX_DATABASES } from '@quotadb/engine';
import type { FsyncMode } from '@quotadb/storage';
import { duration } from '../kinds/duration.js';
import { fsyncMode, integer, list, powerOfTwo, size, text, yesOrNo } from '../kinds/kinds.js';
import { GIBIBYTE, MEBIBYTE, setting } from './setting.js';

/** Settings of memory and disk. */
export const storageSettings = {
  maxMemoryBytes: setting({
    flag: 'max-memory',
    kind: size(4 * MEBIBYTE, 16 * GIBIBYTE),
    default: 512 * MEBIBYTE,
    help: 'memory for keys and counters; when it is full, new keys are refused and existing keys continue to count',
    parameter: 'maxmemory',
  }),
  shardCount: setting({
    flag: 'shards',
    kind: powerOfTwo('count', 1, 1024),
    default: 64,
    help: 'number of parts of the store; more parts make each pause for growth shorter',
  }),
  databases: setting({
    flag: 'databases',
    kind: integer('count', 1, MAX_DATABASES),
    default: 1,
    help:
      'databases that SELECT can choose: 0 holds keys under the names that clients write, each other one under a ' +
      'reserved prefix of its own; 1 refuses every SELECT but 0',
    parameter: 'databases',
  }),
  growOnlyPrefixes: setting({
    flag: 'grow-only',
    kind: list('prefix', 'key prefixes; may be given several times'),
    default: [] as readonly string[],
    help: 'keys with this prefix can only be incremented: no DECR, SET, DEL or FLUSHALL',
  }),
  dataDirectory: setting({
    flag: 'data',
    kind: text('directory', /^[^\0]*$/, 'the path of a directory; empty for none'),
    default: '',
    help:
      'the directory of the log and snapshots, created if missing; without it all data is in memory only. ' +
      'With peers, rate counts below the publish threshold and GCRA buckets stay in memory',
    parameter: 'dir',
  }),
  backupDirectory: setting({
    flag: 'backup-dir',
    kind: text('directory', /^[^\0]*$/, 'the path of a directory; empty for "backups" in --data'),
    default: '',
    help: 'the directory that BACKUP writes to, and to no other; created if missing, in one that exists',
  }),
  memory: setting({
    flag: 'memory',
    kind: yesOrNo(),
    default: false,
    help: 'keep all data in memory only, which is the default without --data; refuses to start with --data',
  }),
  fsync: setting({
    flag: 'fsync',
    kind: fsyncMode(),
    default: 100 as FsyncMode,
    help: 'when changes are synced to disk: "always" before the reply, at this interval, or "never"',
  }),
  snapshotLogBytes: setting({
    flag: 'snapshot-log-size',
    kind: size(MEBIBYTE, 1024 * GIBIBYTE),
    default: 64 * MEBIBYTE,
    help: 'take a snapshot when the log is larger than this and than the last snapshot',
    parameter: 'auto-aof-rewrite-min-size',
  }),
  snapshotIntervalSeconds: setting({
    flag: 'snapshot-interval',
    kind: duration('seconds', 0, 31_536_000),
    default: 3_600,
    help: 'take a snapshot this long after the last one, if anything was written since; 0: by size alone',
  }),
  keepIncarnation: setting({
    flag: 'keep-incarnation',
    kind: yesOrNo(),
    default: false,
    help: 'continue the identity of a backup in --data; only where the server it was taken of will never run again',
  }),
};
