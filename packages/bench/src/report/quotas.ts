import type { Admission, QuotasRow } from '../results/quotas-row.js';
import { markdownTable } from './markdown.js';

/** The limiters, in the words of the report. */
const TITLES: Readonly<Record<string, string>> = {
  quota: 'QUOTA.TAKE',
  local: 'the limit in each region',
  divided: 'limit ÷ regions in each',
  exchanged: 'counts that replicate',
};

/** The section about limits across regions; empty where they were never measured. */
export function renderQuotas(rows: readonly QuotasRow[]): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const { delayMs, date, commit } = first;
  const names = Object.keys(first.sides);
  const lines = rows.map(({ limit, regions, demand, sides }) => {
    return [limit.toLocaleString('en-US'), `${regions}`, demand, ...names.map((name) => admissionText(sides[name]!))];
  });
  return [
    '## One limit across regions',
    '',
    'How much of a limit is allowed when three times the limit is asked for within 7.5 s, with ' +
      `${delayMs} to ${delayMs * 1.25} ms between`,
    'any two regions and a disk in each: real replicas on a simulated network and clock (`npx quotadb bench quotas`),',
    'so the figures do not depend on the machine. Beside quotas stand sliding windows with counters in each region, in',
    'their first window, where all sliding windows are alike: with the whole limit, with a share of it, and with',
    'counts that regions replicate to each other. **Bold** is more than the limit; below the limit, callers were',
    `refused although part of it was left. Run ${date.slice(0, 10)}, commit ${commit.slice(0, 7)}.`,
    '',
    ...markdownTable(['limit', 'regions', 'demand', ...names.map((name) => TITLES[name] ?? name)], [2], lines),
    '',
  ];
}

function admissionText({ admitted, overAdmission, utilisation }: Admission): string {
  const count = admitted.toLocaleString('en-US');
  if (overAdmission > 0) return `**${count}** (+${(overAdmission * 100).toFixed(1)} %)`;
  return utilisation === 1 ? count : `${count} (${(utilisation * 100).toFixed(1)} %)`;
}
