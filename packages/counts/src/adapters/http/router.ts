import type { Operation } from './operation.js';

export interface Match {
  readonly operation: Operation;
  /** As it stands in the path, still percent-encoded; empty where the path has none. */
  readonly itemId: string;
}

interface Route {
  readonly segments: readonly string[];
  readonly methods: Map<string, Operation>;
}

/** Finds the operation for a path. There are five paths in all, told apart by their fixed segments. */
export class Router {
  readonly #routes: Route[] = [];

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const segments = operation.path.split('/');
      let route = this.#routes.find((candidate) => candidate.segments.join('/') === operation.path);
      if (route === undefined) {
        route = { segments, methods: new Map() };
        this.#routes.push(route);
      }
      route.methods.set(operation.method, operation);
    }
  }

  /** The operation, or the methods that the path does have, or undefined when there is no such path. */
  find(method: string, path: string): Match | readonly string[] | undefined {
    const segments = path.split('/');
    for (const route of this.#routes) {
      const itemId = matchSegments(route.segments, segments);
      if (itemId === undefined) continue;
      const operation = route.methods.get(method);
      return operation === undefined ? [...route.methods.keys()] : { operation, itemId };
    }
    return undefined;
  }
}

function matchSegments(template: readonly string[], segments: readonly string[]): string | undefined {
  if (template.length !== segments.length) return undefined;
  let itemId = '';
  for (let index = 0; index < template.length; index++) {
    if (template[index] === '{itemId}') itemId = segments[index]!;
    else if (template[index] !== segments[index]) return undefined;
  }
  return itemId;
}
