/** A way to keep increments on disk, and the flags of each side for it. */
export interface DurabilityMode {
  readonly description: string;
  readonly redis: readonly string[];
  readonly quotadb: readonly string[];
}

const APPEND_ONLY = ['--appendonly', 'yes', '--appendfsync'];
export const NO_APPEND_ONLY = ['--appendonly', 'no'];

export const modes = {
  memory: {
    description: 'INCR with nothing on disk on either side',
    redis: NO_APPEND_ONLY,
    quotadb: ['--memory'],
  },
  never: {
    description: 'INCR; Redis: append-only file, appendfsync no; QuotaDB: --fsync never',
    redis: [...APPEND_ONLY, 'no'],
    quotadb: ['--fsync', 'never'],
  },
  '100ms': {
    description: 'INCR; Redis: append-only file, appendfsync everysec; QuotaDB: --fsync 100, ten times as often',
    redis: [...APPEND_ONLY, 'everysec'],
    quotadb: ['--fsync', '100'],
  },
  always: {
    description: 'INCR; Redis: append-only file, appendfsync always; QuotaDB: --fsync always',
    redis: [...APPEND_ONLY, 'always'],
    quotadb: ['--fsync', 'always'],
  },
} satisfies Record<string, DurabilityMode>;

export type ModeName = keyof typeof modes;
export const modeNames = Object.keys(modes) as ModeName[];
