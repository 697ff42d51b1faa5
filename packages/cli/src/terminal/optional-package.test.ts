import { expect, test } from 'vitest';
import { loadOptionalPackage } from './optional-package.js';

const missing = '@quotadb/not-installed';

test('a package that is missing is named, with what to type to get it', async () => {
  await expect(loadOptionalPackage('bench', missing, () => import(/* @vite-ignore */ missing))).rejects.toThrow();
  const notFound = Object.assign(new Error(`Cannot find package '${missing}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadOptionalPackage('bench', missing, () => Promise.reject(notFound))).rejects.toThrow(
    '"quotadb bench" needs a package that is not installed: npm install @quotadb/not-installed',
  );
});

test('a package that is there but broken is not taken for missing', async () => {
  const broken = Object.assign(new Error("Cannot find package 'another'"), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadOptionalPackage('bench', missing, () => Promise.reject(broken))).rejects.toBe(broken);
});
