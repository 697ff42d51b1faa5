/** Simulated time and a simulated network, for simulations that live elsewhere: of what only the server knows. */
export { type Endpoint, Network, type NetworkObserver, type NetworkTraits } from './network.js';
export { Scheduler } from './scheduler.js';
