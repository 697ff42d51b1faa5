import type { Engine } from '@quotadb/engine';
import { type Problem, ProblemError } from '@quotadb/http';
import type { Refused, ServerState } from '@quotadb/resp';
import { whenSafe } from '../durability/when-safe.js';
import { serverProblems } from './problems.js';

/** Resolves when all changes made so far are as safe as this server promises before it answers. */
export async function requireSafe(state: ServerState, engine: Engine): Promise<void> {
  const refused = await whenSafe(state, engine);
  if (refused !== undefined) throw problemOf(refused, serverProblems.disk_failed);
}

/** `otherwise`: what a refusal of the request itself means here. */
export function problemOf({ error, cause }: Refused, otherwise: Problem): ProblemError {
  return new ProblemError(cause === undefined ? otherwise : serverProblems[cause], { detail: error });
}
