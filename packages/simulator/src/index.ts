export { MISTAKES, type Mistake } from './mistakes.js';
export { makePlan, type Plan } from './plan.js';
export { runSimulate, type SimulateRequest } from './run-simulate.js';
export { type Outcome, type SimulationOptions, simulate } from './simulation.js';
