export { pageOperations } from './dashboard/page.js';
export { documents } from './docs/documents.js';
export { loadFlock } from './durability/flock.js';
export { createServer, type ServerOptions } from './lifecycle/create-server.js';
export { Server } from './lifecycle/server.js';
