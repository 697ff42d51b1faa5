import { Status } from '@quotadb/engine';
import { defineProblems, ProblemError } from '@quotadb/http';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';
import { serverProblems } from '../problems.js';

/** The problems of requests that count in a window or against a limit. */
export const windowProblems = {
  ...serverProblems,
  ...defineProblems({
    invalid_key: {
      status: 400,
      title: 'Invalid key',
      detail: `A key is 1 to ${MAX_CELL_KEY_BYTES} bytes of UTF-8, percent-encoded in the path.`,
    },
    invalid_window: {
      status: 400,
      title: 'Invalid window',
      detail: `windowMs must be an integer from 1 to ${MAX_WINDOW_MS}.`,
    },
    invalid_start: {
      status: 400,
      title: 'Invalid start',
      detail: `startMs must be an integer from 0 to ${MAX_START_MS}.`,
    },
    invalid_amount: {
      status: 400,
      title: 'Invalid amount',
      detail: 'The amount must be an integer from 0 to 9223372036854775807.',
    },
    invalid_limit: {
      status: 400,
      title: 'Invalid limit',
      detail: `limit must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`,
    },
    invalid_cost: {
      status: 400,
      title: 'Invalid cost',
      detail: `cost must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`,
    },
    window_over: {
      status: 409,
      title: 'The window is over',
      detail: 'This window ended long ago and its count has been removed. Nothing was counted.',
    },
    count_out_of_range: {
      status: 409,
      title: 'Count out of range',
      detail: 'The count would leave the 64-bit range. Nothing was counted.',
    },
    out_of_memory: {
      status: 507,
      title: 'Out of memory',
      detail: 'There is no memory for a new count; those that exist go on counting. Nothing was counted.',
    },
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
