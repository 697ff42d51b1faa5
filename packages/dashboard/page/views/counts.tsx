import type { CountsFigures, Snapshot } from '../../src/snapshot.js';
import { growth, knownRegions } from '../live/regions.js';
import { count, microseconds, milliseconds } from '../parts/format.js';
import { Panel, State } from '../parts/panel.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';

const STATES: Readonly<Record<CountsFigures['state'], { readonly dot: string; readonly words: string }>> = {
  unused: { dot: '', words: 'not used yet' },
  fine: { dot: 'good', words: 'takes changes' },
  trouble: { dot: 'bad', words: 'takes no changes' },
};

interface Row {
  readonly region: string;
  readonly recent: readonly Snapshot[];
  readonly now: CountsFigures;
}

/** Named counts over HTTP, and the PostgreSQL that keeps them. */
export function Counts() {
  const rows = knownRegions().map(({ source, snapshot, recent }) => ({
    ...{ region: source.region, recent },
    now: snapshot.counts,
  }));
  const isUsed = rows.some(({ now }) => now.state !== 'unused');
  return (
    <>
      <Panel title="Counts in PostgreSQL">
        <Table columns={COLUMNS} rows={rows} keyOf={({ region }) => region} />
        {!isUsed && (
          <p class="note">
            The counts API has had no requests yet. <code>POST /api/v1/counts/visits/increase</code> is one; the first
            request starts an embedded database where none is configured.
          </p>
        )}
      </Panel>
      {isUsed && (
        <Panel title="Changes per second">
          <TimeChart title="Changes of counts per second" pick={(point) => point.countsPerSecond} format={count} />
        </Panel>
      )}
    </>
  );
}

const COLUMNS = [
  head('Region', ({ region }: Row) => region),
  text('Database', ({ now }: Row) => (
    <>
      <State dot={STATES[now.state].dot}>
        {now.isEmbedded ? 'embedded, ' : ''}
        {STATES[now.state].words}
      </State>
      {now.trouble !== '' && <div class="trouble">{now.trouble}</div>}
    </>
  )),
  number('Changes per second', ({ recent }: Row) => count(growth(recent, (one) => one.counts.changesTotal, 1) ?? 0)),
  number('Mean latency', (row: Row) => ratio(row, 'latencyMsTotal', 'changesTotal', milliseconds)),
  number('p99 of statements', ({ now }: Row) => microseconds(now.statementP99Microseconds)),
  number('Changes per statement', (row: Row) =>
    ratio(row, 'changesTotal', 'statementsTotal', (changes) => changes.toFixed(1)),
  ),
  number('Waiting', ({ now }: Row) => count(now.waiting)),
  number('Statements in flight', ({ now }: Row) => now.statementsInFlight),
  number('Failed', ({ now }: Row) => count(now.changesFailedTotal)),
];

type Total = 'changesTotal' | 'statementsTotal' | 'latencyMsTotal';

/** How much the one total grew for each of the other, in the last ten seconds. */
function ratio({ recent }: Row, of: Total, by: Total, format: (value: number) => string): string {
  const divisor = growth(recent, (one) => one.counts[by]) ?? 0;
  return divisor === 0 ? '–' : format((growth(recent, (one) => one.counts[of]) ?? 0) / divisor);
}
