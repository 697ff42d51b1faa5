export * from './quotas/demand.js';
export { runSimulate, type SimulateRequest } from './run/run-simulate.js';
