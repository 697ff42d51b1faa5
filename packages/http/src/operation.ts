import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Problem } from './problem.js';
import type { BodyBounds } from './request-body.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Texts by their names: what a path holds where its operation declares no schema. */
type Texts = z.ZodObject<Record<string, z.ZodString>>;
type Nothing = z.ZodObject<Record<string, never>>;

/** The request as an operation sees it: checked by the schemas of its declaration. */
export interface Input<Path extends z.ZodType, Query extends z.ZodType, Headers extends z.ZodType, Body> {
  readonly path: z.output<Path>;
  readonly query: z.output<Query>;
  readonly headers: z.output<Headers>;
  readonly body: Body;
}

/** The request and the response themselves, for an operation that writes its answer without help: a page, a stream. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Success {
  /** 200 unless it is said. */
  readonly status?: 200 | 201 | 204 | 301 | 302;
  readonly description: string;
  /** The form of the answer; none where it has no body. */
  readonly schema?: z.ZodType;
  /** `application/json` unless it is said; anything else is sent as the text that `run` returns. */
  readonly mediaType?: string;
  /** The address of the resource that a 201 has made. */
  readonly location?: (result: never) => string;
}

interface Declaration<Path, Query, Headers, Body> {
  readonly id: string;
  readonly method: Method;
  /** `{name}` stands for one segment, `{+name}` for the rest of the path. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** The caller needs one of these; without any, the operation is open to all who reach the port. */
  readonly roles?: readonly string[];
  readonly parameters?: Path;
  /** A strict object refuses other parameters; without a schema the query is ignored. */
  readonly query?: Query;
  readonly headers?: Headers;
  readonly body?: { readonly schema: Body; readonly isOptional?: boolean } & BodyBounds;
  readonly success: Success;
  /** Beyond those that follow from the declaration. */
  readonly problems?: readonly Problem[];
}

interface Answering<Context, Caller, Given> {
  /** Where a browser that opens this address is sent instead: it accepts text/html, programs do not. */
  readonly browserPage?: (context: Context) => string;
  /** Returns the answer, or throws a ProblemError. */
  readonly run?: (context: Context, input: Given, caller: Caller) => unknown;
  /** In place of `run`: writes the answer. */
  readonly respond?: (context: Context, input: Given, caller: Caller, exchange: Exchange) => void | Promise<void>;
}

/** One declaration per operation: routing, guarding, checking, running and the OpenAPI document all come from it. */
export type Operation<Context = never, Caller = never> = Declaration<z.ZodObject, z.ZodObject, z.ZodObject, z.ZodType> &
  Answering<Context, Caller, never>;

/** Makes operations whose `run` sees its input in the types that the schemas checked. */
export function operationsOf<Context, Caller = unknown>() {
  return <
    Path extends z.ZodObject = Texts,
    Query extends z.ZodObject = Nothing,
    Headers extends z.ZodObject = Nothing,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    declaration: Declaration<Path, Query, Headers, Body> &
      Answering<Context, Caller, Input<Path, Query, Headers, z.output<Body>>>,
  ): Operation<Context, Caller> => declaration as unknown as Operation<Context, Caller>;
}
