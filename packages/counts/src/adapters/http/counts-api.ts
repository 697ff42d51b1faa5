import type { Api } from '@quotadb/http';
import { CountError } from '../../domain/count-error.js';
import type { Audience } from './counts-tokens.js';
import { type CountUseCases, externalOperations, internalOperations } from './operations.js';
import { countProblems, problemOfCount } from './problems.js';

/** The parts of the API that a port serves; the others do not exist on it. */
export function countsApi(audiences: readonly Audience[]): Api<CountUseCases, unknown> {
  return {
    name: 'counts',
    title: 'QuotaDB counts',
    description:
      'Named counts whose record is PostgreSQL. Integers are exact to 64 bits: up to 2^53 - 1 they are JSON numbers, ' +
      'past that the service answers with strings of digits and accepts either form.',
    documentPath: '/api/v1/counts/openapi.json',
    pagePath: '/api/v1/counts/docs',
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
    problemOf: (error) => (error instanceof CountError ? problemOfCount(error) : undefined),
    operations: [
      ...(audiences.includes('external') ? externalOperations : []),
      ...(audiences.includes('internal') ? internalOperations : []),
    ],
  };
}
