import { test } from 'vitest';
import { restartMany } from './testing/many-incarnations.js';

test('a region in memory comes back 2,000 times, and all are heard throughout', () => {
  restartMany(2000);
}, 300_000);
