/** ANSI sequences; `usesColors` of @quotadb/config says where they may be written. */
export const BOLD = '\x1b[1m';
export const DIM = '\x1b[2m';
export const PLAIN = '\x1b[0m';
