import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';
import { metricTables } from './all-metrics.js';
import { renderMetric, type Sample } from './metric.js';

/** Several processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const isMissing = spawnSync('promtool', ['--version']).error !== undefined;
const isSkipped = isMissing && process.env.CI !== 'true';
if (isSkipped) process.stderr.write('promtool is not installed (apt-get install prometheus): its checks are skipped\n');

/** What promtool has to say; nothing where all is well. */
function checkMetrics(exposition: string): string {
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
    input: exposition,
    encoding: 'utf8',
  });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

describe.skipIf(isSkipped)('promtool', () => {
  test('finds nothing to mend in the metrics of regions that replicate and share a quota', async () => {
    const regions = await TestRegions.start(['eu', 'us'], { flags: ['--home', 'eu'] });
    try {
      await regions.connected('us', 'eu');
      await eventually(async () =>
        expect(await regions.call('us', 'QUOTA.DEFINE', 'emails', 'LIMIT', 100, 'WINDOW', 3_600_000)).toBe('+OK\r\n'),
      );
      await regions.call('us', 'QUOTA.TAKE', 'emails', 'acme', 1);
      await regions.call('us', 'RATE.LIMIT', 'k', 10, 60_000);
      for (const region of ['eu', 'us']) {
        const { http } = regions.of(region).ready as unknown as { http: number };
        const text = await (await fetch(`http://127.0.0.1:${http}/metrics`)).text();
        expect(text).toContain('quotadb_peer_connected');
        expect(checkMetrics(text)).toBe('');
      }
    } finally {
      await regions.close();
    }
  });

  test('finds nothing to mend in any metric that is declared, and finds a mistake', () => {
    const histogram = { bounds: [1], counts: [1, 2], sum: 3 };
    const samplesOf = (type: string): readonly Sample[] =>
      type === 'summary'
        ? [{ labels: { quantile: 0.5 }, value: 1 }]
        : [{ value: type === 'histogram' ? histogram : 1 }];
    const all = Object.values(metricTables).flatMap((table) =>
      Object.entries(table).map(([name, metric]) => renderMetric({ name, ...metric }, samplesOf(metric.type))),
    );
    expect(checkMetrics(all.join(''))).toBe('');
    const wrong = renderMetric({ name: 'quotadb_things', type: 'counter', help: 'No total.' }, samplesOf('counter'));
    expect(checkMetrics(wrong)).toContain('_total');
  });

  test('takes the alert rules', () => {
    const rules = fileURLToPath(new URL('../../../../deploy/prometheus/alerts.yaml', import.meta.url));
    expect(execFileSync('promtool', ['check', 'rules', rules], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});
