export type { Outcome, SimulationOptions } from './cluster.js';
export { MISTAKES, type Mistake } from './mistakes.js';
export { makePlan, type Plan } from './plan.js';
export * from './quotas/demand.js';
export { simulateQuotas } from './quotas/quota-simulation.js';
export { runSimulate, type SimulateRequest } from './run-simulate.js';
export { simulate } from './simulation.js';
