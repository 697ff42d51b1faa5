import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAccess } from '../access/bearer.js';
import { Need } from '../access/roles.js';
import type { MetricRegistry } from '../metrics/registry.js';

/** GET /metrics, for those who may read; where there are no credentials, for everybody who gets here. */
export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  registry: MetricRegistry,
  access: HttpAccess,
): Promise<void> {
  const user = await access.identifyRequest(request);
  if (user === undefined) {
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="quotadb"', 'content-type': 'application/json' });
    response.end('{"error":"who are you? send Authorization: Bearer <token> or Basic <name:password>"}\n');
    return;
  }
  if ((user.lacks & Need.read) !== 0) {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end('{"error":"metrics need the role read"}\n');
    return;
  }
  const text = await registry.render();
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(request.method === 'HEAD' ? undefined : text);
}
