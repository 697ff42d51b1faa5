import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RlsRow } from '../results/rls-row.js';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

test('every kind of limit is measured over gRPC and over RESP, at full load, at half and at that of the aim', async () => {
  const json = join(temporaryDirectory(), 'rows.json');
  const { code, progress } = await bench('rls', '--smoke', '--no-limits', '--json', json);
  expect([code, progress]).toEqual([ExitCode.Ok, expect.stringContaining('smoke run')]);
  const rows = JSON.parse(readFileSync(json, 'utf8')) as RlsRow[];
  expect(rows.map(({ kind }) => kind)).toEqual(['fixed', 'sliding', 'exact']);
  for (const { sides } of rows)
    for (const side of ['grpc', 'resp']) {
      expect(sides[side]?.throughputPerSecond?.median).toBeGreaterThan(10);
      expect(sides[side]?.halfLoadP99Ms?.median).toBeGreaterThan(0);
      expect(sides[side]?.aimedLoadP99Ms?.median).toBeGreaterThan(0);
    }
}, 180_000);
