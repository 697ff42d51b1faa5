import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { documents } from './documents.js';

test.each(Object.entries(documents()))(
  'docs/%s is what its table says; npm run generate makes it so',
  async (name, text) => {
    expect(await readFile(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')).toBe(text);
  },
);
