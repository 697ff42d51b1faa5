import { Status } from '@quotadb/engine';
import { defineProblems, ProblemError } from '@quotadb/http';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';
import { serverProblems } from '../problems.js';

/** The problems of requests that count in a window or against a limit. */
export const windowProblems = {
  ...serverProblems,
  ...defineProblems({
    invalid_key: [
      400,
      'Invalid key',
      `A key is 1 to ${MAX_CELL_KEY_BYTES} bytes of UTF-8, percent-encoded in the path.`,
    ],
    invalid_window: [
      400,
      'Invalid window',
      `windowMs must be 1 to ${MAX_WINDOW_MS} milliseconds, or a text such as "60s".`,
    ],
    invalid_start: [400, 'Invalid start', `startMs must be an integer from 0 to ${MAX_START_MS}.`],
    invalid_amount: [400, 'Invalid amount', 'The amount must be an integer from 0 to 9223372036854775807.'],
    invalid_limit: [400, 'Invalid limit', `limit must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`],
    invalid_cost: [400, 'Invalid cost', `cost must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`],
    window_over: [
      409,
      'The window is over',
      'This window ended long ago and its count has been removed. Nothing was counted.',
    ],
    count_out_of_range: [409, 'Count out of range', 'The count would leave the 64-bit range. Nothing was counted.'],
    out_of_memory: [
      507,
      'Out of memory',
      'There is no memory for a new count; those that exist go on counting. Nothing was counted.',
    ],
  }),
};

export class WindowProblem extends ProblemError {
  constructor(code: keyof typeof windowProblems) {
    super(windowProblems[code]);
  }
}

/** The problem that the engine's refusal to count is. */
export function refusalOf(status: Status): WindowProblem {
  switch (status) {
    case Status.Overflow:
      return new WindowProblem('count_out_of_range');
    case Status.OutOfMemory:
      return new WindowProblem('out_of_memory');
    default:
      throw new Error(`a cell was refused with engine status ${status}`);
  }
}
