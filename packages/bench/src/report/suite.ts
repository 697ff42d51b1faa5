import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from '../command-line/flags.js';
import { defineSuite } from '../command-line/suite.js';
import type { CountsRow } from '../counts/row.js';
import type { AvailabilityRow } from '../results/availability-row.js';
import type { GroupsRow } from '../results/groups-row.js';
import { readHistory, readNewestRun } from '../results/history.js';
import type { LimitsRow } from '../results/limits-row.js';
import type { QuotasRow } from '../results/quotas-row.js';
import type { RlsRow } from '../results/rls-row.js';
import { repositoryDirectory } from '../results/stamp.js';
import { type OtherRows, PLOTS, renderReport } from './render.js';

/** `quotadb bench report`: draws the history into the documentation, and prints the files it wrote. */
export const report = defineSuite({
  name: 'report',
  summary: 'write docs/benchmarks.md and its plots from the history',
  flags: {
    results: text('DIR', "history of all runs; the repository's bench/results"),
    docs: text('DIR', "where the page goes; the repository's docs"),
  },
  run({ results: givenResults, docs }, { print }) {
    const results = repositoryDirectory(givenResults, 'bench', 'results');
    const documentation = repositoryDirectory(docs, 'docs');
    if (!existsSync(results)) throw new Error(`there is no ${results}; run \`npx quotadb bench\` first`);
    const files = renderReport(readHistory(results), readOtherRows(results));
    removeOldPlots(join(documentation, PLOTS));
    for (const [name, content] of files) {
      const file = join(documentation, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      print(file);
    }
  },
});

/** The rows of other shapes, below bench/results. */
export function readOtherRows(results: string): OtherRows {
  return {
    quotas: readNewestRun<QuotasRow>(join(results, 'quotas')),
    availability: readHistory<AvailabilityRow>(join(results, 'availability')),
    groups: readNewestRun<GroupsRow>(join(results, 'groups')),
    limits: readHistory<LimitsRow>(join(results, 'limits')),
    counts: readHistory<CountsRow>(join(results, 'counts')),
    rls: readHistory<RlsRow>(join(results, 'rls')),
  };
}

/** Plots of scenarios that are no longer measured would otherwise stay for ever. */
function removeOldPlots(directory: string): void {
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) if (name.endsWith('.svg')) rmSync(join(directory, name));
}
