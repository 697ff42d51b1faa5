/** Bounds of messages. A request of Envoy has some hundred bytes, a few descriptors and a few entries in each. */
export const MAXIMUM_MESSAGE_BYTES: number = 256 * 1024;
export const MAXIMUM_DESCRIPTORS = 64;
export const MAXIMUM_ENTRIES = 32;
export const MAXIMUM_DOMAIN_BYTES = 1024;
export const MAXIMUM_ENTRY_BYTES: number = 16 * 1024;
/** Hits of one descriptor: as many as the request's own field can hold. */
export const MAXIMUM_HITS: number = 2 ** 32 - 1;
/** Buckets of one report, and of one stream. */
export const MAXIMUM_BUCKETS = 1000;
/** Memory for the buckets of all streams together. */
export const MAXIMUM_BUCKET_BYTES: number = 64 * 1024 * 1024;
