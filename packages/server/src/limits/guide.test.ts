import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readCatalogue } from '@quotadb/limits';
import { expect, test } from 'vitest';

const guide = readFileSync(fileURLToPath(new URL('../../../../docs/limits.md', import.meta.url)), 'utf8');

test('every catalogue in the guide is one without mistakes', () => {
  const blocks = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => readCatalogue(text));
  expect(blocks.map(({ limits }) => limits.length)).toEqual([4]);
});
