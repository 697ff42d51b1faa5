import { checked, checkedText, type RespClient } from '../client/resp-client.js';
import { clearProgress, Progress } from '../terminal/progress.js';
import { type Counter, countersOf } from './counters.js';

export interface ImportOptions {
  /** A pattern of keys. */
  readonly match: string;
  /** Adds to the value here instead of setting it. */
  readonly add?: boolean;
  readonly dryRun?: boolean;
}

export interface Report {
  counters: number;
  expiring: number;
  otherKinds: number;
  noIntegers: number;
  tooLong: number;
  /** Counters left out because the sum would leave 64 bits. */
  outOfRange: number;
}

/** Copies the counters of a Redis, or of another QuotaDB, with their expiries. The source is not changed. */
export async function copyCounters(source: RespClient, target: RespClient, options: ImportOptions): Promise<Report> {
  const report: Report = { counters: 0, expiring: 0, otherKinds: 0, noIntegers: 0, tooLong: 0, outOfRange: 0 };
  const total = Number(checkedText(await source.call('DBSIZE')));
  const progress = new Progress(`${source.where} → ${target.where}`, total);
  // A scan may return a key twice. Setting its value twice does no harm; adding it twice would.
  const added = new Set<string>();
  let scanned = 0;
  try {
    for await (const found of countersOf(source, options.match)) {
      const counters = options.add ? found.counters.filter(({ key }) => isNew(added, key)) : found.counters;
      const written = await Promise.all(
        counters.map(async (counter) => options.dryRun || write(target, counter, options)),
      );
      const kept = counters.filter((_, index) => written[index]);
      report.counters += kept.length;
      report.expiring += kept.filter(({ expiresInMs }) => expiresInMs !== undefined).length;
      report.outOfRange += counters.length - kept.length;
      report.otherKinds += found.otherKinds;
      report.noIntegers += found.noIntegers;
      report.tooLong += found.tooLong;
      scanned += found.counters.length + found.otherKinds + found.noIntegers + found.tooLong;
      progress.show(scanned);
    }
  } catch (error) {
    if (options.add && report.counters > 0)
      (error as Error).message +=
        `; ${report.counters} counters had been added before, and some of the failed step may be: ` +
        'adding again would count them twice';
    throw error;
  } finally {
    clearProgress();
  }
  return report;
}

/**
 * False where the sum would leave 64 bits. The target gets times to live, not times of day: the clocks of the two
 * servers need not agree.
 */
async function write(
  target: RespClient,
  { key, value, expiresInMs }: Counter,
  { add }: ImportOptions,
): Promise<boolean> {
  const lifetime = expiresInMs === undefined ? [] : ['PX', String(expiresInMs)];
  const words = add
    ? ['INCREX', key, 'BYINT', value, ...lifetime, ...(lifetime.length > 0 ? ['ENX'] : [])]
    : ['SET', key, value, ...lifetime];
  const reply = checked(await target.call(...words));
  return !(add && value !== '0' && 'items' in reply && checkedText(reply.items[1]) === '0');
}

function isNew(added: Set<string>, key: Uint8Array): boolean {
  const name = Buffer.from(key).toString('latin1');
  if (added.has(name)) return false;
  added.add(name);
  return true;
}
