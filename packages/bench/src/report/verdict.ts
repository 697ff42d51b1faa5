import { measureNames, measureOf } from '../results/measures.js';
import { BASELINE, type ResultRow } from '../results/row.js';
import { leadOf } from '../results/summary.js';
import { scenarioTitle } from './table.js';

/** Says plainly in what Redis is ahead, the largest lead first. A benchmark that hides this is an advertisement. */
export function formatVerdict(rows: readonly ResultRow[]): string {
  const names = new Set(
    rows.flatMap((row) => Object.keys(row.sides).filter((name) => row.sides[name]!.kind === 'quotadb')),
  );
  return [...names].map((name) => verdictOn(name, rows)).join('\n');
}

function verdictOn(name: string, rows: readonly ResultRow[]): string {
  let compared = 0;
  const leads: { readonly by: number; readonly text: string }[] = [];
  for (const row of rows) {
    for (const measure of measureNames) {
      const { better, title, format } = measureOf(measure);
      const theirs = row.sides[BASELINE]?.measures[measure];
      const ours = row.sides[name]?.measures[measure];
      if (!better || !theirs || !ours) continue;
      compared++;
      const lead = leadOf(theirs, ours, better);
      if (lead === undefined) continue;
      const figures = `redis ${format(theirs.median)}, ${name} ${format(ours.median)}`;
      const doubt = lead.doubt === '' ? '' : `, ${lead.doubt}`;
      leads.push({
        by: lead.by,
        text: `  ${scenarioTitle(row)}: ${title}: ${figures} (redis ahead by ${percent(lead.by)}${doubt})`,
      });
    }
  }
  if (leads.length === 0) return `Redis is ahead of ${name} in none of ${compared} measures.\n`;
  leads.sort((a, b) => b.by - a.by);
  const lines = leads.map((lead) => lead.text);
  return [`Redis is ahead of ${name} in ${leads.length} of ${compared} measures:`, ...lines, ''].join('\n');
}

function percent(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %` : 'any measure';
}
