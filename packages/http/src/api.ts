import type { z } from 'zod';
import type { Operation } from './operation.js';
import type { Problem, ProblemError } from './problem.js';
import type { CheckedInput } from './request-input.js';

/** The problem that a field of a request has when its schema refuses it. */
export type FieldProblem = Problem | ((issue: z.core.$ZodIssue) => Problem);

/** Operations that belong together: a part of the OpenAPI document and of the page. */
export interface Api<Context = never, Caller = never> {
  /** Its tag in the document. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The address of a document of this API alone. */
  readonly documentPath?: string;
  /** The address of a page of this API alone, from before there was one page for all: it redirects there. */
  readonly formerPagePath?: string;
  /** The operations that have roles take tokens only, no passwords. */
  readonly isForTokensOnly?: boolean;
  /** By the names of fields, parameters and headers; for others it is invalid_body or invalid_parameter. */
  readonly fieldProblems?: Readonly<Record<string, FieldProblem>>;
  /** Called before every operation that has roles: throws where this caller may not name what the input names. */
  readonly admits?: (caller: Caller, input: CheckedInput) => void;
  /** The problem behind an error that an operation throws and that is no ProblemError. */
  readonly problemOf?: (error: unknown) => ProblemError | undefined;
  readonly operations: readonly Operation<Context, Caller>[];
}

/** An API with the context that its operations run in. */
export interface ServedApi<Caller = never> {
  readonly api: Api<never, Caller>;
  readonly context: unknown;
}

export function serveApi<Context, Caller>(api: Api<Context, Caller>, context: Context): ServedApi<Caller> {
  return { api, context };
}
