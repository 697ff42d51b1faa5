import { defineProblems } from '@quotadb/http';

/** Problems that operations of several APIs have. */
export const serverProblems = defineProblems({
  bad_key: [400, 'Bad key', 'The key is not percent-encoded UTF-8, or longer than a key may be.'],
  key_forbidden: [403, 'Key forbidden', 'The key prefixes of this user do not cover that key.'],
  no_such_quota: [404, 'No such quota', 'There is no quota with this name. Define it first.'],
  disk_failed: [503, 'The disk failed', 'The change could not be written to disk (--fsync always).', 1],
});
