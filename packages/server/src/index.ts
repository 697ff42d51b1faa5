/**
 * QuotaDB as a server to embed: RESP, HTTP and replication in this process, and its threads.
 *
 * Cost: `maxMemoryBytes` of memory, reserved at the start, and one thread per lane; on Linux with koffi as many lanes
 * as `laneCount` says, elsewhere clients are served on the main thread. A stop takes at most 5 s for clients
 * (`Server.STOP_BOUND_MS`) and 2 s for peers. One process may run several servers, each with ports and a data
 * directory of its own.
 *
 * @example
 * const server = createServer({ respPort: 0, httpPort: 0, dataDirectory: './data' });
 * await server.start();
 * console.log(server.readyLine());
 * await server.stop();
 */
export { pageOperations } from './dashboard/page.js';
export { documents } from './docs/documents.js';
export { loadFlock } from './durability/flock.js';
export { CountsServer } from './lifecycle/counts-server.js';
export { createServer, type ServerOptions } from './lifecycle/create-server.js';
export { exitWithoutThreads } from './lifecycle/exit-without-threads.js';
export type { ReadyLine } from './lifecycle/ready-line.js';
export { Server } from './lifecycle/server.js';
