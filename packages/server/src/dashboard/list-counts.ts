import type { CountsService } from '@quotadb/counts';
import type { CountPage } from '@quotadb/dashboard';

const PAGE_COUNTS = 100;

/** A page of counts. Looking must not start a database: where none is in use yet, there is none. */
export async function listCounts(
  { api, figures }: Pick<CountsService, 'api' | 'figures'>,
  prefix: string,
  after: string,
): Promise<CountPage> {
  const { isInUse, isEmbedded } = figures();
  // A configured database may hold counts of an earlier run; connecting to it starts nothing.
  if (!isInUse && isEmbedded) return { isInUse: false, counts: [], cursor: '' };
  const found = await api.internal.list(prefix, after, PAGE_COUNTS);
  return {
    isInUse: true,
    counts: found.map(({ itemId, currentValue, lastUpdatedAt }) => ({
      itemId,
      value: String(currentValue),
      updatedAtMs: lastUpdatedAt.getTime(),
    })),
    cursor: found.length < PAGE_COUNTS ? '' : (found.at(-1)?.itemId ?? ''),
  };
}
