import { readFile } from 'node:fs/promises';
import { settingNames, settingOf } from '@quotadb/config';
import { commands } from '@quotadb/resp';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { metricTables } from './all-metrics.js';

/** Every series that a server exposes; the files of deploy/ may use no others. */
const series = new Set(
  Object.values(metricTables).flatMap((table) =>
    Object.entries(table).flatMap(([name, { type }]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
    ),
  ),
);
/** Metrics that no dashboard shows: they identify a server, or repeat a metric that is shown. */
const UNSHOWN = new Set([
  // The former name of quotadb_keys_unpublished.
  'quotadb_keys_withheld',
  'quotadb_info',
  'quotadb_start_time_seconds',
  'quotadb_slowlog_length',
  'quotadb_keyspace_hits_total',
  'quotadb_keyspace_misses_total',
  'quotadb_connections_maximum',
  'quotadb_connections_received_total',
  'quotadb_clients_blocked',
  'quotadb_lane_commands_total',
  // Of interest when keys were chosen to collide, which the hash makes hard.
  'quotadb_longest_bucket_records',
  'quotadb_largest_shard_records',
  'quotadb_disk_up',
  'quotadb_wal_flushes_total',
  'quotadb_snapshot_duration_seconds',
  'quotadb_snapshot_time_seconds',
  'quotadb_snapshot_failed',
  'quotadb_peer_lag_shards',
  'quotadb_peer_joined_ratio',
  'quotadb_peer_connections_total',
  'quotadb_replication_refusals_total',
  'quotadb_peer_frames_ahead_total',
  'quotadb_quota_frames_refused_total',
  'quotadb_quota_limit',
  'process_open_fds',
]);
/** Prometheus's own. */
series.add('up');

function read(path: string): Promise<string> {
  return readFile(new URL(`../../../../deploy/${path}`, import.meta.url), 'utf8');
}

/** The names of metrics in an expression: words without a bracket behind them, but labels, strings and keywords. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w|\s*\()/g)].map(([name]) => name);
}

function expectKnown(expression: string): void {
  const names = metricsIn(expression);
  expect([expression, names.length]).not.toEqual([expression, 0]);
  for (const name of names) expect([expression, series.has(name) ? 'known' : name]).toEqual([expression, 'known']);
}

test('a name that is no metric is found out', () => {
  expect(metricsIn('rate(quotadb_nothing{region="x"}[5m]) > 1')).toEqual(['quotadb_nothing']);
  expect(() => expectKnown('quotadb_nothing > 1')).toThrow();
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

async function alerts(): Promise<readonly Rule[]> {
  const { groups } = parse(await read('prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

test('every alert asks for metrics that exist, and says how bad it is and what to do', async () => {
  const rules = await alerts();
  expect(rules.length).toBeGreaterThan(5);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const rule of rules) {
    expectKnown(rule.expr);
    expect(rule.alert).toMatch(/^Quotadb[A-Z]/);
    expect(rule.for).toMatch(/^\d+[smh]$/);
    expect(['info', 'warning', 'critical']).toContain(rule.labels.severity);
    expect(rule.annotations.summary).not.toBe('');
  }
});

/** Words in capitals that are neither commands nor error codes. */
const ABBREVIATIONS = new Set(['TLS', 'OOM']);

test('the texts of alerts name flags, commands and pages that exist', async () => {
  const flags = new Set(settingNames.map((name) => `--${settingOf(name).flag}`));
  const words = new Set(
    commands.flatMap(({ name, syntax, subcommands = [] }) => [
      name.toUpperCase(),
      ...subcommands.map((subcommand) => subcommand.name.toUpperCase()),
      ...(syntax.match(/[A-Z][A-Z-]+/g) ?? []),
    ]),
  );
  const tools = await readFile(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
  for (const { alert, annotations } of await alerts()) {
    const text = `${annotations.summary} ${annotations.description}`;
    const unknown = [
      ...(text.match(/--[a-z][a-z-]+/g) ?? []).filter((flag) => !flags.has(flag)),
      ...(text.match(/\b[A-Z][A-Z.]{2,}\b/g) ?? []).filter((word) => !words.has(word) && !ABBREVIATIONS.has(word)),
      ...[...text.matchAll(/"(quotadb [a-z ]+)"/g)].filter(([, line]) => !tools.includes(line)).map(([, line]) => line),
    ];
    expect([alert, unknown]).toEqual([alert, []]);
    const [, page = '', heading = ''] = /\/docs\/([a-z-]+\.md)#(.+)$/.exec(annotations.runbook_url) ?? [];
    expect([alert, await headingsOf(page)]).toEqual([alert, expect.arrayContaining([heading])]);
  }
});

/** As GitHub makes addresses from headings. */
async function headingsOf(page: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the Grafana dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
  }

  async function panels(): Promise<readonly Panel[]> {
    return (JSON.parse(await read('grafana/dashboards/quotadb.json')) as { panels: Panel[] }).panels;
  }

  test('asks for metrics that exist', async () => {
    for (const { targets } of await panels()) for (const { expr } of targets ?? []) expectKnown(expr);
  });

  test('has panels that do not overlap, each with an id of its own', async () => {
    const all = await panels();
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { gridPos: a, title } of all) {
      expect([title, a.x + a.w <= 24]).toEqual([title, true]);
      const over = all.filter(
        ({ gridPos: b }) => b !== a && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h,
      );
      expect([title, over]).toEqual([title, []]);
    }
  });

  test('shows every metric that changes, but for a few that others say better', async () => {
    const asked = new Set(
      (await panels()).flatMap(({ targets }) => (targets ?? []).flatMap(({ expr }) => metricsIn(expr))),
    );
    const isShown = (name: string) => asked.has(name) || asked.has(`${name}_bucket`);
    const missing = Object.values(metricTables).flatMap((table) =>
      Object.keys(table).filter((name) => !isShown(name) && !UNSHOWN.has(name)),
    );
    expect(missing).toEqual([]);
  });
});

test('the scrape configuration and what Grafana is given fit together', async () => {
  const prometheus = parse(await read('prometheus/prometheus.yaml'));
  expect(prometheus.rule_files).toEqual(['/etc/prometheus/alerts.yaml']);
  expect(
    prometheus.scrape_configs[0].static_configs.map(({ labels }: { labels: { region: string } }) => labels.region),
  ).toEqual(['us', 'eu', 'ap']);
  const source = parse(await read('grafana/provisioning/datasources/prometheus.yaml'));
  expect(source.datasources[0].url).toBe('http://prometheus:9090');
});
