import { defineProblems } from '@quotadb/http';

/** Problems that operations of several APIs have. */
export const serverProblems = defineProblems({
  bad_key: [400, 'Bad key', 'The key is not percent-encoded UTF-8, or longer than a key may be.'],
  key_forbidden: [403, 'Key forbidden', 'The key prefixes of this user do not cover that key.'],
  key_elsewhere: [
    421,
    'Key elsewhere',
    'Another group of the cluster owns the slot of this key; the detail says which.',
  ],
  keys_apart: [
    400,
    'Keys apart',
    'In a cluster the keys or subjects of one request are in one slot: give them the same hash ' +
      'tag, as in {user:7}:day.',
  ],
  no_such_quota: [404, 'No such quota', 'There is no quota with this name. Define it first.'],
  not_replicated: [
    504,
    'Not replicated',
    'Too few other servers hold the change in time (--replicate-before-reply). It stays here and is sent later.',
  ],
  disk_failed: [503, 'The disk failed', 'The change could not be written to disk (--fsync always).', 1],
});

/** Problems of operations that are run in another group of the cluster. */
export const clusterProblems = defineProblems({
  group_unreachable: [503, 'Group unreachable', 'The group that owns the slot of this key cannot be reached.', 1],
  map_changing: [
    503,
    'Map changing',
    'Two groups have different cluster maps at the moment, and neither takes the key for its own.',
    1,
  ],
  group_silent: [
    504,
    'Group silent',
    'The group that owns the slot of this key has not answered, and may have run the operation.',
  ],
});

/** Of every operation on a key or subject, which another group may own. */
export const elsewhereProblems = [serverProblems.key_elsewhere, ...Object.values(clusterProblems)] as const;

/** Of changes that hold in all groups of a cluster. */
export const { groups_missing } = defineProblems({
  groups_missing: [
    503,
    'Groups missing',
    'The change holds in some groups of the cluster and not yet in others; the detail says in which, and why.',
  ],
});
