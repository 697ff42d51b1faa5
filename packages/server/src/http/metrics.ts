import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAccess } from '../access/bearer.js';
import { Need } from '../access/roles.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { letIn } from './guard.js';

/** GET /metrics, for those who may read; where there are no credentials, for everybody who gets here. */
export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  registry: MetricRegistry,
  access: HttpAccess,
): Promise<void> {
  const user = await letIn(request, response, access, { bit: Need.read, role: 'read', what: 'metrics' });
  if (user === undefined) return;
  const text = await registry.render();
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(request.method === 'HEAD' ? undefined : text);
}
