import { settingNames } from '@quotadb/config';
import { commands } from '@quotadb/resp';
import { apis } from '../http/ports/apis.js';
import { metricTables } from '../metrics/all-metrics.js';
import { commandsDocument } from './commands-document.js';
import { configurationDocument } from './configuration-document.js';
import { httpDocument } from './http-document.js';
import { metricsDocument } from './metrics-document.js';

/** The pages that scripts/generate.mjs writes into docs/, by file name. */
export function documents(): Readonly<Record<string, string>> {
  return {
    'commands.md': commandsDocument(commands),
    'http.md': httpDocument(apis),
    'metrics.md': metricsDocument(metricTables),
    'configuration.md': configurationDocument(settingNames),
  };
}
