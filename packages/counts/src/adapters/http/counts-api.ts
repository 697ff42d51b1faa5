import { type Api, type CheckedInput, ProblemError } from '@quotadb/http';
import type { Audience, CountsCaller } from './counts-tokens.js';
import { type CountUseCases, externalOperations, internalOperations } from './operations.js';
import { countProblems, problemOfError } from './problems.js';

/** The parts of the API that a port serves; the others do not exist on it. */
export function countsApi(audiences: readonly Audience[]): Api<CountUseCases, CountsCaller> {
  return {
    name: 'counts',
    title: 'QuotaDB counts',
    description:
      'Named counts whose record is PostgreSQL. Integers are exact to 64 bits: up to 2^53 - 1 they are JSON numbers, ' +
      'past that the service answers with strings of digits and accepts either form.',
    documentPath: '/api/v1/counts/openapi.json',
    formerPagePath: '/api/v1/counts/docs',
    isForTokensOnly: true,
    fieldProblems: {
      amount: countProblems.invalid_amount,
      value: countProblems.invalid_value,
      initialValue: countProblems.invalid_value,
      itemId: countProblems.invalid_item_id,
      'Idempotency-Key': countProblems.invalid_idempotency_key,
      itemIds: ({ code, path }) => {
        if (path.length > 1) return countProblems.invalid_item_id;
        return code === 'too_big' ? countProblems.too_many_item_ids : countProblems.missing_item_ids;
      },
    },
    admits: itemIdsAreCovered,
    problemOf: problemOfError,
    operations: [
      ...(audiences.includes('external') ? externalOperations : []),
      ...(audiences.includes('internal') ? internalOperations : []),
    ],
  };
}

/** Wherever an operation takes the id of a count: in its path, its query or its body. */
interface NamedCounts {
  readonly itemId?: string;
  readonly itemIds?: readonly string[];
}

/** The one check of item ids for all operations: key prefixes hold for them as for keys. */
function itemIdsAreCovered(caller: CountsCaller, { path, query, body }: CheckedInput): void {
  for (const { itemId, itemIds = [] } of [path, query, body ?? {}] as readonly NamedCounts[]) {
    const named = itemId === undefined ? itemIds : [itemId, ...itemIds];
    if (!named.every((id) => caller.covers(id))) throw new ProblemError(countProblems.key_forbidden);
  }
}
