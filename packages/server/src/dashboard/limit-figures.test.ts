import { summarise } from '@quotadb/limits';
import { LimitStatistics } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { limitFigures } from './limit-figures.js';

test('the page gets the limits of the catalogue and others, with the subjects that each denies most', () => {
  const statistics = new LimitStatistics(() => 0);
  const note = (name: string, subject: string, allowed: boolean, shadow = false) => {
    const item = {
      name,
      kind: 'fixed',
      subject: Buffer.from(subject),
      cost: 1,
      limit: 1,
      windowMs: 1,
      shadow,
    } as const;
    const decided = { name, shadow, allowed, limit: 1, remaining: 0, resetMs: 1, retryAfterMs: allowed ? 0 : 1 };
    statistics.note([item], summarise([decided]));
  };
  note('api', 'ann', true);
  for (let time = 0; time < 3; time++) note('api', 'bob', false);
  note('tried', 'bob', false, true);
  note('of-a-gateway', 'x', true);
  const limits = [
    { name: 'api', kind: 'fixed', limit: 1, window: '1h' },
    { name: 'tried', kind: 'fixed', limit: 1, window: '1h', shadow: true },
    { name: 'unused', kind: 'exact', limit: 1, window: '1h' },
  ] as const;
  const figures = limitFigures({ limits: [...limits] }, statistics.byLimit, statistics.denied.list());
  expect(figures).toMatchObject([
    { name: 'api', kind: 'fixed', isShadow: false, allowedTotal: 1, deniedTotal: 3, shadowDeniedTotal: 0 },
    { name: 'tried', kind: 'fixed', isShadow: true, allowedTotal: 0, deniedTotal: 0, shadowDeniedTotal: 1 },
    { name: 'unused', kind: 'exact', allowedTotal: 0, subjects: [] },
    { name: 'of-a-gateway', kind: null, allowedTotal: 1, subjects: [] },
  ]);
  expect(figures[0].subjects).toEqual([{ subject: 'bob', deniedPerSecond: 3, isShadow: false }]);
  expect(figures[1].subjects).toEqual([{ subject: 'bob', deniedPerSecond: 1, isShadow: true }]);
});
