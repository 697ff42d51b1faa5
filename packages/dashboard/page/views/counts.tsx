import { useSignal } from '@preact/signals';
import type { CountPage, CountSummary, CountsFigures, Snapshot, Source } from '../../src/snapshot.js';
import { choose, chosen } from '../live/address.js';
import { getJson } from '../live/connection.js';
import { type Page, searchAgain, usePages } from '../live/pages.js';
import { growth, knownRegions, sources } from '../live/regions.js';
import { count, exact, microseconds, milliseconds, moment } from '../parts/format.js';
import { LongName } from '../parts/name.js';
import { Alert, Empty, Loading, Panel, State } from '../parts/panel.js';
import { RangeChoice } from '../parts/range-choice.js';
import { COUNTS } from '../parts/scale.js';
import { chosenSource, SourceChoice } from '../parts/source-choice.js';
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
  const source = chosenSource();
  if (rows.length === 0 || source === undefined) return <Loading what="the counts" />;
  const isUsed = rows.some(({ now }) => now.state !== 'unused');
  return (
    <>
      <Panel title="Counts" caption={`In the PostgreSQL of ${source.region}, by item id.`}>
        {sources.value?.user?.isAdmin === false ? (
          <Empty title="Counts are listed for admins">This user may see figures only.</Empty>
        ) : (
          <CountList
            source={source}
            isUsed={rows.some(({ region, now }) => region === source.region && now.state !== 'unused')}
          />
        )}
      </Panel>
      <Panel title="PostgreSQL" caption="As each region writes to it; the last ten seconds.">
        <Table columns={COLUMNS} rows={rows} keyOf={({ region }) => region} />
      </Panel>
      {isUsed && (
        <Panel title="Changes per second" tools={<RangeChoice />}>
          <TimeChart title="Changes of counts per second" field="countsPerSecond" unit={COUNTS} />
        </Panel>
      )}
    </>
  );
}

function CountList(props: { source: Source; isUsed: boolean }) {
  const { region, base } = props.source;
  const prefix = chosen('prefix');
  const typed = useSignal(prefix);
  const isInUse = useSignal(true);
  const found = usePages<CountSummary>(
    `${region} ${props.isUsed} ${prefix}`,
    async (cursor): Promise<Page<CountSummary>> => {
      const query = new URLSearchParams({ prefix, cursor });
      const page = await getJson<CountPage>(`${base}/api/v1/dashboard/counts?${query}`);
      isInUse.value = page.isInUse;
      return { items: page.counts, cursor: page.cursor };
    },
    ({ itemId }) => itemId,
  );
  if (found.trouble !== '') return <Alert text={`The counts cannot be read: ${found.trouble}`} />;
  if (found.items === null) return <Loading what="counts" />;
  if (!isInUse.value)
    return (
      <Empty title="The counts API has had no requests yet">
        <code>POST /api/v1/internal/counts</code> with an <code>itemId</code> makes a count; the first request starts an
        embedded PostgreSQL where none is configured.
      </Empty>
    );
  return (
    <>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          choose({ prefix: typed.value });
          searchAgain();
        }}
      >
        <SourceChoice />
        <label class="grows">
          Item ids that begin with
          <input
            value={typed.value}
            spellcheck={false}
            autocomplete="off"
            maxLength={255}
            onInput={(event) => {
              typed.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Search</button>
      </form>
      {found.items.length === 0 ? (
        <Empty title={prefix === '' ? 'There are no counts' : `No item id begins with ${prefix}`}>
          {prefix === '' && (
            <>
              <code>POST /api/v1/internal/counts</code> with an <code>itemId</code> makes one.
            </>
          )}
        </Empty>
      ) : (
        <Table columns={COUNT_COLUMNS} rows={found.items} keyOf={({ itemId }) => itemId} label="Counts" />
      )}
      {found.cursor !== '' && (
        <button type="button" disabled={found.isLoading} onClick={found.more}>
          {found.isLoading ? 'Looking …' : 'More'}
        </button>
      )}
    </>
  );
}

const COUNT_COLUMNS = [
  head('Item id', ({ itemId }: CountSummary) => <LongName text={itemId} />, 'mono'),
  number('Value', ({ value }: CountSummary) => exact(value)),
  number('Changed', ({ updatedAtMs }: CountSummary) => moment(updatedAtMs, Date.now())),
];

const COLUMNS = [
  head('Region', ({ region }: Row) => region),
  text('State', ({ now }: Row) => (
    <>
      <State dot={STATES[now.state].dot}>
        {now.isEmbedded ? 'embedded, ' : ''}
        {STATES[now.state].words}
      </State>
      {now.trouble !== '' && <div class="trouble small">{now.trouble}</div>}
    </>
  )),
  number('Changes / s', ({ recent }: Row) => count(growth(recent, (one) => one.counts.changesTotal, 1) ?? 0)),
  number('Mean latency', (row: Row) => ratio(row, 'latencyMsTotal', 'changesTotal', milliseconds)),
  number('p99 of statements', ({ now }: Row) => microseconds(now.statementP99Microseconds)),
  number('Changes per statement', (row: Row) => ratio(row, 'changesTotal', 'statementsTotal', count)),
  number('Waiting', ({ now }: Row) => count(now.waiting)),
  number('Statements in flight', ({ now }: Row) => count(now.statementsInFlight)),
  number('Failed', ({ now }: Row) => count(now.changesFailedTotal)),
];

type Total = 'changesTotal' | 'statementsTotal' | 'latencyMsTotal';

/** How much the one total grew for each of the other, in the last ten seconds. */
function ratio({ recent }: Row, of: Total, by: Total, format: (value: number) => string): string {
  const divisor = growth(recent, (one) => one.counts[by]) ?? 0;
  return divisor === 0 ? '–' : format((growth(recent, (one) => one.counts[of]) ?? 0) / divisor);
}
