import { defineProblems } from '@quotadb/http';

/** Problems that operations of several APIs have. */
export const serverProblems = defineProblems({
  bad_key: {
    status: 400,
    title: 'Bad key',
    detail: 'The key is not percent-encoded UTF-8, or longer than a key may be.',
  },
  key_forbidden: {
    status: 403,
    title: 'Key forbidden',
    detail: 'The key prefixes of this user do not cover that key.',
  },
  no_such_quota: {
    status: 404,
    title: 'No such quota',
    detail: 'There is no quota with this name. Define it first.',
  },
  disk_failed: {
    status: 503,
    title: 'The disk failed',
    detail: 'The change must be on disk before it is acknowledged (--fsync always), and writing to the disk failed.',
    retryAfterSeconds: 1,
  },
});
