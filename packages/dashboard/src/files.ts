import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

export type { DemoState } from './demo.js';
export type * from './snapshot.js';

export interface PageFile {
  readonly bytes: Uint8Array;
  readonly type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

const PACKAGE = dirname(createRequire(import.meta.url).resolve('@quotadb/dashboard/package.json'));
const PAGE = `${PACKAGE}/dist/page/`;
/** The page and its files; the build puts a hash into every name. */
const FILE_NAME = /^(?:index\.html|assets\/[\w.-]+\.(?:js|css))$/;

/** A file of the page, or undefined where there is no such file. `index.html` is the page itself. */
export function readPageFile(name: string): PageFile | undefined {
  if (!FILE_NAME.test(name)) return undefined;
  try {
    return {
      bytes: readFileSync(PAGE + name),
      type: TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    };
  } catch {
    return undefined;
  }
}

/** The page loads and runs its own files only, and no other page may frame it. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
