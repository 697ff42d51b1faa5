import type { User } from '@quotadb/config';
import { countsApi } from '@quotadb/counts';
import type { Api } from '@quotadb/http';
import { dashboardApi } from '../../dashboard/dashboard-api.js';
import { keysApi } from '../keys/keys-api.js';
import { limitsApi } from '../limits/limits-api.js';
import { quotasApi } from '../quotas/quotas-api.js';
import { statusApi } from '../status/status-api.js';
import { windowsApi } from '../windows/windows-api.js';

/** Everything that a server answers over HTTP, in the order of the reference. */
export const apis: readonly Api<never, User>[] = [
  windowsApi,
  limitsApi,
  quotasApi,
  countsApi(['external', 'internal']),
  keysApi,
  statusApi,
  dashboardApi,
];
