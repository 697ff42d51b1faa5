import type { Admission, QuotasRow } from '../results/quotas-row.js';

/** What the limiters are called where people read it. */
const TITLES: Readonly<Record<string, string>> = {
  quota: 'QUOTA.TAKE',
  local: 'the limit in each region',
  divided: 'limit ÷ regions in each',
  exchanged: 'counts that replicate',
};

/** The part of the report about limits across regions; nothing where it was never measured. */
export function renderQuotas(rows: readonly QuotasRow[]): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const names = Object.keys(first.sides);
  const header = ['limit', 'regions', 'demand', ...names.map((name) => TITLES[name] ?? name)];
  const lines = rows.map((row) => [
    row.limit.toLocaleString('en-US'),
    `${row.regions}`,
    row.demand,
    ...names.map((name) => cell(row.sides[name]!)),
  ]);
  return [
    '## One limit across regions',
    '',
    `How much of a limit is allowed when three times as much is asked for within 7.5 s, with ${first.delayMs} to ${first.delayMs * 1.25} ms between`,
    'any two regions and a disk in each: real replicas on a simulated network and clock (`npx quotadb bench quotas`), so the',
    'machine has no part in it. Beside quotas: sliding windows with counters in each region, in their first window, where all windows are',
    'alike: with the whole limit, with its part of it, and with counts that regions tell each other by replication. **Bold** is more than',
    `the limit; where it is less, something was left that nobody got. Run ${first.date.slice(0, 10)}, commit ${first.commit.slice(0, 7)}.`,
    '',
    ...[header, header.map((_, column) => (column === 2 ? '---' : '---:')), ...lines].map(
      (cells) => `| ${cells.join(' | ')} |`,
    ),
    '',
  ];
}

function cell({ admitted, overAdmission, utilisation }: Admission): string {
  const count = admitted.toLocaleString('en-US');
  if (overAdmission > 0) return `**${count}** (+${(overAdmission * 100).toFixed(1)} %)`;
  return utilisation === 1 ? count : `${count} (${(utilisation * 100).toFixed(1)} %)`;
}
