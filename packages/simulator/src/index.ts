export * from './quotas/demand.js';
export * from './rates/figures.js';
export { runSimulate, type SimulateRequest } from './run/run-simulate.js';
