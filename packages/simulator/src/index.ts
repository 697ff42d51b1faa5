export { makePlan, type Plan } from './plan.js';
export { type Outcome, type SimulationOptions, simulate } from './simulation.js';
