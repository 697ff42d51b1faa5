/** One connection that is made again when it is lost, for servers that talk to each other; programs use the client. */
export { Connection } from './connection.js';
export { type ResolvedOptions, resolveOptions } from './options.js';
