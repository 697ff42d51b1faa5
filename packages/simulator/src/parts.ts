/** Simulated time and a simulated network, for simulations that live elsewhere: of what only the server knows. */
export { type Endpoint, Network, type NetworkObserver, type NetworkTraits } from './world/network.js';
export { Scheduler } from './world/scheduler.js';
