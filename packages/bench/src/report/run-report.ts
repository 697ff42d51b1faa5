import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from '../flags.js';
import { readNewestQuotaRows } from '../quotas/row.js';
import { findRepository } from '../results/environment.js';
import { readHistory } from '../results/history.js';
import { PLOTS, renderReport } from './render.js';

/** `quotadb bench report`: draws the history into the documentation. Tells the files it wrote. */
export function runReport(argv: readonly string[]): string[] {
  const given = readFlags(argv);
  const root = findRepository(process.cwd()) ?? process.cwd();
  const results = given.results ?? join(root, 'bench', 'results');
  const documentation = given.docs ?? join(root, 'docs');
  if (!existsSync(results)) throw new Error(`there is no ${results}; run \`npx quotadb bench\` first`);
  const files = renderReport(readHistory(results), readNewestQuotaRows(join(results, 'quotas')));
  removeOldPlots(join(documentation, PLOTS));
  return [...files].map(([name, content]) => {
    const file = join(documentation, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  });
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: { results: { type: 'string' }, docs: { type: 'string' } } }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Plots of scenarios that are no longer measured would otherwise stay for ever. */
function removeOldPlots(directory: string): void {
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) if (name.endsWith('.svg')) rmSync(join(directory, name));
}
