import { signal } from '@preact/signals';
import type { DiskFigures, Fact, SlowCommand } from '../../src/snapshot.js';
import { getJson } from '../live/connection.js';
import { knownRegions, sources } from '../live/regions.js';
import { bytes, clock, count, microseconds, milliseconds } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { head, number, Table, text } from '../parts/table.js';

const RETRY_MS = 3000;
const SYNCED: Readonly<Record<string, string>> = {
  always: 'before every reply',
  never: 'when the operating system decides',
};

const configuration = signal<readonly { region: string; facts: readonly Fact[] }[]>([]);

/** Persistence, slow commands and configuration of each region. */
export function ServerView() {
  const known = knownRegions();
  const slow = known.flatMap(({ source, snapshot }) =>
    snapshot.slowCommands.map((command) => ({ region: source.region, ...command })),
  );
  return (
    <>
      <div class="columns">
        {known.map(({ source, snapshot }) => (
          <Panel key={source.region} title={`Disk of ${source.region}`}>
            {snapshot.persistence === null ? (
              <p class="note">All data is in memory only. Start with --data DIR to keep it.</p>
            ) : (
              <Table columns={FACT_COLUMNS} rows={factsOf(snapshot.persistence)} keyOf={({ name }) => name} />
            )}
          </Panel>
        ))}
      </div>
      <Panel title="Slow commands">
        <Table columns={SLOW_COLUMNS} rows={slow} keyOf={({ region, id }) => `${region} ${id}`} />
        {slow.length === 0 && <p class="note">None so far.</p>}
      </Panel>
      <Configuration />
    </>
  );
}

const FACT_COLUMNS = [
  head('', ({ name }: Fact) => name),
  text('', ({ value }: Fact) => (value === '' ? '–' : value), 'mono'),
];

type Slow = SlowCommand & { readonly region: string };

const SLOW_COLUMNS = [
  text('Region', ({ region }: Slow) => region),
  text('When', ({ atMs }: Slow) => clock(atMs)),
  number('Took', (slow: Slow) => microseconds(slow.microseconds)),
  text('Command', ({ command }: Slow) => <code>{command}</code>),
  text('Client', ({ client }: Slow) => client, 'mono'),
];

function factsOf(disk: DiskFigures): Fact[] {
  const snapshot =
    disk.snapshotBytes === 0 ? 'none yet' : `${bytes(disk.snapshotBytes)} at ${clock(disk.snapshotAtMs)}`;
  return [
    { name: 'State', value: disk.isFailed ? 'writing has failed; see the log' : 'fine' },
    { name: 'Synced', value: SYNCED[disk.fsync] ?? `every ${disk.fsync} ms` },
    { name: 'Flushes', value: `${count(disk.flushesTotal)}, ${count(disk.flushesLateTotal)} late` },
    { name: 'Syncs', value: count(disk.syncsTotal) },
    { name: 'Last flush', value: milliseconds(disk.lastFlushMs) },
    { name: 'p99 of syncs', value: microseconds(disk.syncP99Microseconds) },
    { name: 'Written in all', value: bytes(disk.writtenBytesTotal) },
    { name: 'Log since the last snapshot', value: bytes(disk.logBytes) },
    {
      name: 'Last snapshot',
      value: disk.isSnapshotting ? 'being taken' : disk.hasSnapshotFailed ? 'failed; the log goes on' : snapshot,
    },
  ];
}

/** Settings, with a column for each region. */
function Configuration() {
  const all = configuration.value.filter(({ facts }) => facts.length > 0);
  if (all.length === 0) return null;
  const columns = [
    head('Setting', ({ name }: Fact) => name),
    ...all.map(({ region, facts }) => text<Fact>(region, (_, index) => facts[index]?.value || '–', 'mono')),
  ];
  return (
    <Panel title="Configuration">
      <Table columns={columns} rows={all[0].facts} keyOf={({ name }) => name} />
    </Panel>
  );
}

/** Asks every region, and asks again while one has not answered and the view is open. */
export async function loadConfiguration(isWanted: () => boolean): Promise<void> {
  configuration.value = await Promise.all(
    (sources.value?.sources ?? []).map(async ({ region, base }) => ({
      region,
      facts: await getJson<Fact[]>(`${base}/api/v1/dashboard/configuration`).catch(() => []),
    })),
  );
  if (configuration.value.some(({ facts }) => facts.length === 0))
    setTimeout(() => {
      if (isWanted()) void loadConfiguration(isWanted);
    }, RETRY_MS);
}
