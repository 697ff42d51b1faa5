import { dirname, join } from 'node:path';
import type { BenchOptions } from './options.js';
import { BASELINE } from './results/row.js';
import type { Contender } from './servers/contender.js';
import { findExecutable, isExecutable } from './servers/find-executable.js';
import { findQuotaDB } from './servers/quotadb.js';

/** Without Redis there is nothing to stand beside. */
export class NoRedisError extends Error {}

/** Redis first, for it is what the others are compared with; then Valkey, if it is here; then QuotaDB. */
export function chooseContenders(options: BenchOptions): Contender[] {
  const contenders: Contender[] = [
    { name: BASELINE, kind: 'redis', program: requireRedis(options.redis), serveArguments: [] },
  ];
  const valkey = options.valkey === '' ? findExecutable('valkey-server') : requireProgram(options.valkey);
  if (valkey !== undefined) contenders.push({ name: 'valkey', kind: 'valkey', program: valkey, serveArguments: [] });
  return [...contenders, ...quotadbs(options)];
}

function requireRedis(given: string): string {
  if (given !== '' && !isExecutable(given)) throw new NoRedisError(`--redis: ${given} is no program`);
  const found = given === '' ? findExecutable('redis-server') : given;
  if (found !== undefined) return found;
  throw new NoRedisError(
    'There is no redis-server on this machine, and this benchmark only means something beside one.\n' +
      'Install it (Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis), or give its place with --redis PATH.',
  );
}

function requireProgram(path: string): string {
  if (isExecutable(path)) return path;
  throw new Error(`${path} is no program`);
}

function quotadbs(options: BenchOptions): Contender[] {
  const program = options.quotadb === '' ? findQuotaDB() : options.quotadb;
  if (program === undefined)
    throw new Error('the quotadb program was not found; build it, or give its place with --quotadb PATH');
  const common = { kind: 'quotadb' as const, program };
  // Settings that change what is measured are part of the name: the history must not mix them up.
  const suffix = options.serveArguments.length === 0 ? '' : ` ${options.serveArguments.join(' ')}`;
  if (options.lanes.length === 0) {
    return [{ ...common, name: `quotadb${suffix}`, serveArguments: options.serveArguments }];
  }
  return options.lanes.map((lanes) => ({
    ...common,
    name: `quotadb ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}${suffix}`,
    serveArguments: ['--lanes', String(lanes), ...options.serveArguments],
  }));
}

/** redis-benchmark comes with redis-server, so look beside it first. */
export function findRedisBenchmark(redis: string): string {
  const beside = join(dirname(redis), 'redis-benchmark');
  const found = isExecutable(beside) ? beside : findExecutable('redis-benchmark');
  if (found === undefined) throw new Error('redis-benchmark was not found; it comes with Redis (Debian: redis-tools)');
  return found;
}
