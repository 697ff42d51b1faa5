import type { MetricSource } from '../metrics/metric.js';

/** docs/metrics.md, from the tables of metrics. */
export function metricsDocument(tables: Readonly<Record<string, MetricSource['metrics']>>): string {
  return [
    '# Metrics',
    '',
    'Made from the tables in `packages/server/src/metrics`; `npm run generate` makes it anew.',
    '',
    '`GET /metrics` on the HTTP port, in the text format of Prometheus. Where there are credentials it takes a token',
    'of a user with the role `read` (`Authorization: Bearer …`), or a name and password by `Basic`. A scrape asks',
    'every lane once and costs them microseconds. `deploy/` has a scrape configuration, alert rules and a Grafana',
    'dashboard.',
    '',
    'Latencies are of the commands themselves, without the network. Reading the clock costs as much as an `INCR`',
    'does, so on epoll lanes one turn in sixteen is timed, and all turns that are long or hold costly commands;',
    'counters count all.',
    ...Object.entries(tables).flatMap(([title, metrics]) => section(title, metrics)),
    '',
  ].join('\n');
}

function section(title: string, metrics: MetricSource['metrics']): string[] {
  const rows = Object.entries(metrics).map(([name, { type, help }]) => `| \`${name}\` | ${type} | ${help} |`);
  return ['', `## ${title}`, '', '| metric | type | meaning |', '|---|---|---|', ...rows];
}
