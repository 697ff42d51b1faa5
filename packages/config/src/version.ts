import { createRequire } from 'node:module';

/** QuotaDB's own version, from the package it ships in. */
export const QUOTADB_VERSION: string = createRequire(import.meta.url)('@quotadb/config/package.json').version;

/** The version of Redis whose commands, replies and errors these are; clients choose their commands by it. */
export const REDIS_VERSION = '7.2.4';
