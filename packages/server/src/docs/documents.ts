import { countsOpenApi } from '@quotadb/counts';
import { commands } from '../commands/table.js';
import { settingNames } from '../config/table.js';
import { quotasDocument } from '../http/quotas/openapi.js';
import { windowsOpenApi } from '../http/windows/openapi.js';
import { metricTables } from '../metrics/table.js';
import { commandsDocument } from './commands-document.js';
import { configurationDocument } from './configuration-document.js';
import { type Api, type ApiPlace, httpDocument } from './http-document.js';
import { metricsDocument } from './metrics-document.js';

/** Every API that has an OpenAPI document, with the address of that and the guide to it. */
const apis: readonly (readonly [api: () => unknown, document: string, guide: string])[] = [
  [windowsOpenApi, '/api/v1/openapi/windows.json', 'algorithms/README.md'],
  [quotasDocument, '/api/v1/quotas/openapi.json', 'quotas.md'],
  [countsOpenApi, '/api/v1/counts/openapi.json', 'counts.md'],
];

/** What scripts/generate.mjs writes into docs/, by file name. */
export function documents(): Readonly<Record<string, string>> {
  return {
    'commands.md': commandsDocument(commands),
    'http.md': httpDocument(apis.map(([api, document, guide]): ApiPlace => ({ api: api() as Api, document, guide }))),
    'metrics.md': metricsDocument(metricTables),
    'configuration.md': configurationDocument(settingNames),
  };
}
