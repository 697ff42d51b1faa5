import { commands } from '../commands/table.js';
import { settingNames } from '../config/table.js';
import { metricTables } from '../metrics/table.js';
import { commandsDocument } from './commands-document.js';
import { configurationDocument } from './configuration-document.js';
import { metricsDocument } from './metrics-document.js';

/** What scripts/generate.mjs writes into docs/, by file name. */
export function documents(): Readonly<Record<string, string>> {
  return {
    'commands.md': commandsDocument(commands),
    'metrics.md': metricsDocument(metricTables),
    'configuration.md': configurationDocument(settingNames),
  };
}
