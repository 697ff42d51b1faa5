import type { DiskFigures, SlowCommand } from '../../src/snapshot.js';
import { knownRegions } from '../live/regions.js';
import { bytes, count, microseconds, milliseconds, moment } from '../parts/format.js';
import { LongName } from '../parts/name.js';
import { Empty, Loading, Panel, State } from '../parts/panel.js';
import { number, Table, text } from '../parts/table.js';
import { Settings } from './settings.js';

interface Fact {
  readonly name: string;
  readonly value: string;
}

const SYNCED: Readonly<Record<string, string>> = {
  always: 'before every reply',
  never: 'when the operating system decides',
};

/** Persistence, slow commands and settings of each region. */
export function ServerView() {
  const known = knownRegions();
  if (known.length === 0) return <Loading what="the servers" />;
  const slow = known.flatMap(({ source, snapshot }) =>
    snapshot.slowCommands.map((command) => ({ region: source.region, ...command })),
  );
  return (
    <>
      <div class="columns">
        {known.map(({ source, snapshot }) => (
          <Panel key={source.region} title={`Disk of ${source.region}`}>
            {snapshot.persistence === null ? (
              <Empty title="All data is in memory">
                Nothing is kept when the server stops. Start it with <code>--data DIR</code> to keep it.
              </Empty>
            ) : (
              <>
                <p>
                  <State dot={snapshot.persistence.isFailed ? 'bad' : 'good'}>
                    {snapshot.persistence.isFailed ? 'writing has failed; see the log' : 'everything is written'}
                  </State>
                </p>
                <Facts of={factsOf(snapshot.persistence)} />
              </>
            )}
          </Panel>
        ))}
      </div>
      <Panel title="Slow commands" caption="SLOWLOG of all regions, the newest first.">
        {slow.length === 0 ? (
          <Empty title="No command has been slow so far" />
        ) : (
          <Table columns={SLOW_COLUMNS} rows={slow} keyOf={({ region, id }) => `${region} ${id}`} />
        )}
      </Panel>
      <Settings />
    </>
  );
}

function Facts(props: { of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {props.of.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type Slow = SlowCommand & { readonly region: string };

const SLOW_COLUMNS = [
  text('Region', ({ region }: Slow) => region),
  text('When', ({ atMs }: Slow) => moment(atMs, Date.now())),
  number('Took', (slow: Slow) => microseconds(slow.microseconds)),
  text('Command', ({ command }: Slow) => <LongName text={command} />, 'mono'),
  text('Client', ({ client }: Slow) => client, 'mono'),
];

function factsOf(disk: DiskFigures): Fact[] {
  const snapshot =
    disk.snapshotBytes === 0 ? 'none yet' : `${bytes(disk.snapshotBytes)} at ${moment(disk.snapshotAtMs, Date.now())}`;
  return [
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
