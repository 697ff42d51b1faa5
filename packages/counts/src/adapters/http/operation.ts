import type { z } from 'zod';
import type { CountValue } from '../../domain/count-value.js';
import type { ChangedCount, ExternalCountUpdateApi } from '../../domain/ports/external-count-update-api.js';
import type { InternalCountValueApi } from '../../domain/ports/internal-count-value-api.js';
import type { ProblemCode } from './problem-registry.js';

/** Who an operation is for: systems that count, or systems that manage counts. */
export type Audience = 'external' | 'internal';

export interface CountsApi {
  readonly external: ExternalCountUpdateApi;
  readonly internal: InternalCountValueApi;
}

/** What of the request an operation may look at, checked already. */
export interface OperationInput<Body> {
  /** From the path; empty where the path has none. */
  readonly itemId: string;
  /** From the query of the operation that reads many. */
  readonly itemIds: readonly string[];
  readonly body: Body;
  readonly idempotencyKey: string | undefined;
}

export type OperationResult = ChangedCount | CountValue | readonly CountValue[] | undefined;

/** One declaration per operation: routing, checking, running and the OpenAPI document all come from it. */
export interface Operation {
  readonly id: string;
  readonly audience: Audience;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The segment `{itemId}` is the only variable one. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly body?: { readonly schema: z.ZodType; readonly optional: boolean };
  readonly readsMany?: boolean;
  readonly changes: boolean;
  readonly success: { readonly status: number; readonly description: string; readonly schema?: z.ZodType };
  /** Beyond those that any operation of its form can have. */
  readonly problems: readonly ProblemCode[];
  readonly run: (api: CountsApi, input: OperationInput<unknown>) => Promise<OperationResult>;
}

/** Lets an operation's `run` see its body in the type that its schema checked. */
export function operation<Schema extends z.ZodType>(
  declaration: Omit<Operation, 'body' | 'run'> & {
    readonly body?: { readonly schema: Schema; readonly optional: boolean };
    readonly run: (api: CountsApi, input: OperationInput<z.output<Schema>>) => Promise<OperationResult>;
  },
): Operation {
  return declaration as Operation;
}
