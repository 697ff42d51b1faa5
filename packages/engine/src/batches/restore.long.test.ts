import { test } from 'vitest';
import { history } from '../testing/restore-history.js';

test.each([
  { neighbour: false, snapshotInBetween: false },
  { neighbour: false, snapshotInBetween: true },
  { neighbour: true, snapshotInBetween: false },
  { neighbour: true, snapshotInBetween: true },
])('a node comes back from its disk as it was: %o, ten thousand histories', (options) => {
  for (let seed = 100_000; seed < 110_000; seed++) history(seed, options);
});
