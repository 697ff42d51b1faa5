import { type Answer, answerOfProblem, answerOfResult } from './answer.js';
import type { ServedApi } from './api.js';
import type { Operation } from './operation.js';
import { type Problem, ProblemError, type ProblemExtras } from './problem.js';
import { problems } from './problems.js';
import { tooLarge, USUAL_BODY_BYTES } from './request-body.js';
import { readInput } from './request-input.js';
import { Router, requireMatch } from './router.js';

/** A request that one server passes to another, which has what it is about. */
export interface CarriedRequest {
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
  readonly body: Buffer;
}

/**
 * Thrown by an operation that has done nothing, because another server has what it is about. Where requests are carried
 * it is run there; elsewhere it is answered as the problem that it is.
 */
export class ElsewhereError extends ProblemError {
  /** The slot that decides which server it is. */
  readonly slot: number;
  /** How long the operation may wait there. */
  readonly waitMs: number;

  constructor(problem: Problem, extras: ProblemExtras, slot: number, waitMs: number) {
    super(problem, extras);
    this.slot = slot;
    this.waitMs = waitMs;
  }
}

/** Runs a request elsewhere; throws a ProblemError where that fails. */
export type Carry = (elsewhere: ElsewhereError, request: CarriedRequest) => Promise<Answer>;

export interface CarriedOptions<Caller extends object> {
  /** Whether another server may pass on this operation. */
  readonly isCarried: (operation: Operation) => boolean;
  /** Whether a caller has one of these roles. */
  readonly mayRun: (caller: Caller, roles: readonly string[]) => boolean;
  readonly onError: (error: unknown, operationId: string) => void;
}

/** Answers requests that other servers pass on, from the same table as those of clients. */
export function createCarriedHandler<Caller extends object>(
  apis: readonly ServedApi<Caller>[],
  { isCarried, mayRun, onError }: CarriedOptions<Caller>,
): (request: CarriedRequest, caller: Caller) => Promise<Answer> {
  const router = new Router(
    (apis as readonly ServedApi[]).map(({ api, context }) => ({
      api: { ...api, operations: api.operations.filter(isCarried) },
      context,
    })),
  );
  return async ({ method, target, body }, caller) => {
    let id = '';
    try {
      const { match, query } = requireMatch(router, method, target);
      const { api, context, operation } = match.route;
      id = operation.id;
      if (!mayRun(caller, operation.roles ?? [])) throw new ProblemError(problems.wrong_role);
      const { maximumBytes = USUAL_BODY_BYTES } = operation.body ?? {};
      if (body.length > maximumBytes) throw tooLarge(maximumBytes);
      const input = (await readInput(match, { query, headers: {}, body: () => body })) as never;
      api.admits?.(caller as never, input);
      return answerOfResult(operation, await operation.run?.(context as never, input, caller as never));
    } catch (error) {
      if (error instanceof ProblemError) return answerOfProblem(error);
      onError(error, id);
      return answerOfProblem(new ProblemError(problems.internal_error));
    }
  };
}
