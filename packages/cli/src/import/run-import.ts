import { RespClient, type Target } from '../client/resp-client.js';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { Progress } from '../terminal/progress.js';
import { type Counter, checked, countersOf } from './counters.js';

export interface ImportOptions {
  /** A pattern of keys. */
  readonly match: string;
  /** Adds to what is counted here instead of setting it. */
  readonly add?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

interface Report {
  counters: number;
  expiring: number;
  otherKinds: number;
  noIntegers: number;
  tooLong: number;
  /** Where adding would leave 64 bits. */
  outOfRange: number;
}

/** Copies the counters of a Redis, or of another QuotaDB, with their expiries. Nothing is changed in the source. */
export async function runImport(from: Target, to: Target, options: ImportOptions): Promise<number> {
  const source = await RespClient.open(from);
  try {
    const target = await RespClient.open(to);
    try {
      const report = await copy(source, target, options);
      process.stdout.write(`${options.json ? JSON.stringify(report) : inWords(report, source, target, options)}\n`);
      return report.outOfRange === 0 ? EXIT_OK : EXIT_FAILURE;
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

async function copy(source: RespClient, target: RespClient, options: ImportOptions): Promise<Report> {
  const report: Report = { counters: 0, expiring: 0, otherKinds: 0, noIntegers: 0, tooLong: 0, outOfRange: 0 };
  const total = Number(checkedText(await source.call('DBSIZE')));
  const progress = new Progress(`${source.where} → ${target.where}`, total);
  // Setting a value twice is setting it; adding it twice is a mistake, and a scan may name a key twice.
  const added = new Set<string>();
  let looked = 0;
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
      looked += found.counters.length + found.otherKinds + found.noIntegers + found.tooLong;
      progress.show(looked);
    }
  } catch (error) {
    if (options.add && report.counters > 0)
      (error as Error).message +=
        `; ${report.counters} counters had been added by then, and those of the step that failed may be: adding again would count them twice`;
    throw error;
  } finally {
    progress.end();
  }
  return report;
}

/** False where the sum would leave 64 bits. Times to live are told, not times of day: the clocks of the two servers need not agree. */
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

function checkedText(reply: Parameters<typeof checked>[0]): string {
  const given = checked(reply);
  return 'text' in given ? given.text : '';
}

function inWords(report: Report, source: RespClient, target: RespClient, { add, dryRun }: ImportOptions): string {
  const done = dryRun ? 'could be copied' : add ? 'added' : 'copied';
  const left = [
    [report.otherKinds, 'no strings'],
    [report.noIntegers, 'no 64-bit integers'],
    [report.tooLong, 'keys of more than 65536 bytes'],
    [report.outOfRange, 'the sum would leave 64 bits'],
  ] as const;
  return [
    `${report.counters} counters ${done}, ${report.expiring} of them with an expiry: ${source.where} → ${target.where}`,
    ...left.filter(([count]) => count > 0).map(([count, why]) => `left out, ${why}: ${count}`),
  ].join('\n');
}
