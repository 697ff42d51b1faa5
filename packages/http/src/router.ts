import type { ServedApi } from './api.js';
import type { Operation } from './operation.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';

/** Longer paths are cut in messages. */
const SHOWN_CHARACTERS = 128;

/** An operation with its place in the table. */
export interface Route extends ServedApi {
  readonly operation: Operation;
  readonly segments: readonly string[];
}

export interface Match {
  readonly route: Route;
  /** The variables of the path by name, still percent-encoded. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Finds the operation for a method and a path. Where several paths fit, the one with more fixed segments comes first.
 */
export class Router {
  /** Routes without `{+name}`, by the number of their segments. */
  readonly #exact = new Map<number, Route[]>();
  /** Those that end in `{+name}`. */
  readonly #open: Route[] = [];

  constructor(served: readonly ServedApi[]) {
    for (const { api, context } of served) {
      for (const operation of api.operations)
        this.#add({ api, context, operation, segments: operation.path.split('/') });
    }
    for (const routes of this.#exact.values()) routes.sort((one, other) => variablesOf(one) - variablesOf(other));
  }

  #add(route: Route): void {
    const { length } = route.segments;
    if (route.segments[length - 1]?.startsWith('{+')) this.#open.push(route);
    else if (this.#exact.has(length)) this.#exact.get(length)?.push(route);
    else this.#exact.set(length, [route]);
  }

  /** The operation, or the methods that the path does have: none where there is no such path. */
  find(method: string, path: string): Match | readonly string[] {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const segments = path.split('/');
    const methods: string[] = [];
    for (const route of [...(this.#exact.get(segments.length) ?? []), ...this.#open]) {
      const values = matchSegments(route.segments, segments);
      if (values === undefined) continue;
      if (route.operation.method === wanted) return { route, values };
      methods.push(route.operation.method);
    }
    return methods;
  }
}

/** The operation at a target, which is a path with its query; throws a ProblemError where there is none. */
export function requireMatch(
  router: Router,
  method: string,
  target: string,
): { readonly match: Match; readonly query: string } {
  const queryAt = target.indexOf('?');
  const match = router.find(method, queryAt === -1 ? target : target.slice(0, queryAt));
  if ('route' in match) return { match, query: queryAt === -1 ? '' : target.slice(queryAt + 1) };
  if (match.length === 0) {
    const [path = ''] = target.split('?', 1);
    const shown = path.length > SHOWN_CHARACTERS ? `${path.slice(0, SHOWN_CHARACTERS)}…` : path;
    const detail = `There is nothing at ${shown}: /docs and /openapi.json have all that there is.`;
    throw new ProblemError(problems.route_not_found, { detail });
  }
  const allowed = [...new Set(match)].join(', ');
  const detail = `${method} is not allowed here: use ${allowed}.`;
  throw new ProblemError(problems.method_not_allowed, { detail, headers: { Allow: allowed } });
}

function variablesOf({ segments }: Route): number {
  return segments.filter((segment) => segment.startsWith('{')).length;
}

function matchSegments(
  template: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const values: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    if (part.startsWith('{+')) {
      values[part.slice(2, -1)] = segments.slice(index).join('/');
      return index < segments.length ? values : undefined;
    }
    if (part.startsWith('{')) values[part.slice(1, -1)] = segments[index] ?? '';
    else if (part !== segments[index]) return undefined;
  }
  return values;
}
