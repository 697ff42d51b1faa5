/** What `over-http.mjs` finds, wherever it runs. */
export const FACTS_OVER_HTTP: readonly string[] = [
  'window: 1152921504606846977',
  'rate limit: 100 true',
  'quota: 200 true',
  'given back: 200',
  'lease: true denied renewed',
  'problem: no_such_quota 404 true',
  'hono: 200 429 r=0',
];
