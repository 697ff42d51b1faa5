import { readFileSync } from 'node:fs';

/** QuotaDB's own version, from the package it ships in. */
export const QUOTADB_VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

/** The version of Redis whose commands, replies and errors these are; clients choose their commands by it. */
export const REDIS_VERSION = '7.2.4';
