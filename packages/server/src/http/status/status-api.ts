import { type Api, defineProblems, operationsOf, ProblemError } from '@quotadb/http';
import { z } from 'zod';

export interface StatusContext {
  /** Whether clients are being served; false while starting and stopping. */
  readonly isReady: () => boolean;
  /** Why not, where it is none of the usual reasons. */
  readonly reason?: () => string | undefined;
  readonly describe: () => object;
  /** The page of this server, for a browser that opens `/`. */
  readonly page: string;
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

const { not_ready } = defineProblems({
  not_ready: [
    503,
    'Not ready',
    'The server is starting or stopping, its disk refuses writes, its clock has jumped or its time is far ahead of that ' +
      'of its peers, or its data is an old copy.',
  ],
});

const operation = operationsOf<StatusContext>();

/** Is it alive, is it ready, which server is it, and its metrics. */
export const statusApi: Api<StatusContext, unknown> = {
  name: 'status',
  title: 'QuotaDB status',
  description: 'For load balancers, orchestrators and Prometheus.',
  operations: [
    operation({
      id: 'describeServer',
      method: 'GET',
      path: '/',
      summary: 'Name, version, region and port of this server; a browser is sent to the dashboard',
      browserPage: ({ page }) => page,
      success: {
        description: 'The server.',
        schema: z.object({ name: z.string(), version: z.string(), region: z.string(), resp: z.int().optional() }),
      },
      run: ({ describe }) => describe(),
    }),
    operation({
      id: 'checkHealth',
      method: 'GET',
      path: '/healthz',
      summary: 'Whether the process is alive',
      success: { description: 'It does.', schema: z.object({ alive: z.literal(true) }) },
      run: () => ({ alive: true }),
    }),
    operation({
      id: 'checkReadiness',
      method: 'GET',
      path: '/readyz',
      summary: 'Whether clients are served',
      success: { description: 'They are.', schema: z.object({ ready: z.literal(true) }) },
      problems: [not_ready],
      run: ({ isReady, reason }) => {
        if (isReady()) return { ready: true };
        const detail = reason?.();
        throw new ProblemError(not_ready, { members: { ready: false }, ...(detail !== undefined && { detail }) });
      },
    }),
    operation({
      id: 'readMetrics',
      method: 'GET',
      path: '/metrics',
      summary: 'The metrics, for Prometheus',
      roles: ['read'],
      success: { description: 'See metrics.md.', mediaType: 'text/plain; version=0.0.4; charset=utf-8' },
      run: ({ metrics }) => metrics(),
    }),
  ],
};
