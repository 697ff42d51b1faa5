import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ComponentDetails, KeyDetails, KeyPage, KeySummary, Source } from '../../src/snapshot.js';
import { addressWith, choose, chosen } from '../live/address.js';
import { getJson } from '../live/connection.js';
import { type Page, searchAgain, usePages } from '../live/pages.js';
import { useWatch } from '../live/watch.js';
import { Chart } from '../parts/chart.js';
import { clock, exact, moment, timeLeft } from '../parts/format.js';
import { LongName, Name } from '../parts/name.js';
import { Alert, Empty, Loading, Panel } from '../parts/panel.js';
import { WHOLE } from '../parts/scale.js';
import { chosenSource, SourceChoice } from '../parts/source-choice.js';
import { head, number, Table, text } from '../parts/table.js';

const HISTORY_POINTS = 300;
/** The key that is watched, as it is now: its row in the list says the same. */
const watched = signal<{ readonly key: string; readonly value: string; readonly expiresAtMs: number } | null>(null);

/** Keys by a pattern, and one of them closely. */
export function Keys() {
  const source = chosenSource();
  if (source === undefined) return <Loading what="the regions" />;
  const key = chosen('key');
  return (
    <div class={`columns uneven${key === '' ? '' : ' chosen'}`}>
      <Panel title="Find a key" caption={`As ${source.region} holds them.`}>
        <Search />
        <Found source={source} />
      </Panel>
      <Panel title={key === '' ? 'Key' : 'Watching'} shows={key}>
        {key === '' ? (
          <Empty title="No key is chosen">Choose one to watch its value, its components by region, and its TTL.</Empty>
        ) : (
          <Watching key={`${source.region} ${key}`} source={source} name={key} />
        )}
      </Panel>
    </div>
  );
}

function Search() {
  const typed = useSignal(chosen('match') || '*');
  useEffect(() => {
    typed.value = chosen('match') || '*';
  }, [chosen('match')]);
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        choose({ match: typed.value === '*' ? '' : typed.value });
        searchAgain();
      }}
    >
      <SourceChoice />
      <label class="grows">
        Pattern, as in KEYS
        <input
          value={typed.value}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

function Found(props: { source: Source }) {
  const match = chosen('match') || '*';
  const { region, base } = props.source;
  const readAtMs = useSignal(0);
  const found = usePages<KeySummary>(
    `${region} ${match}`,
    async (cursor): Promise<Page<KeySummary>> => {
      const query = new URLSearchParams({ match, cursor });
      const page = await getJson<KeyPage>(`${base}/api/v1/dashboard/keys?${query}`);
      readAtMs.value = Date.now();
      return { items: page.keys, cursor: page.cursor };
    },
    ({ key }) => key,
  );
  if (found.trouble !== '') return <Alert text={`The search failed: ${found.trouble}`} />;
  if (found.items === null) return <Loading what="keys" />;
  const keys = [...found.items].sort((one, other) => (one.key < other.key ? -1 : 1));
  return (
    <>
      {keys.length === 0 ? <NoKeys match={match} isWhole={found.cursor === ''} /> : <KeyTable keys={keys} />}
      {keys.length > 0 && <p class="caption">Read at {clock(readAtMs.value)}; Search reads them again.</p>}
      {found.cursor !== '' && (
        <button type="button" disabled={found.isLoading} onClick={found.more}>
          {found.isLoading ? 'Looking …' : 'More'}
        </button>
      )}
    </>
  );
}

function NoKeys(props: { match: string; isWhole: boolean }) {
  const { match } = props;
  if (match === '*' && props.isWhole)
    return (
      <Empty title="This server holds no keys">
        <code>INCR visits</code> makes one.
      </Empty>
    );
  return (
    <Empty title={props.isWhole ? `No key matches ${match}` : `No key matches ${match} so far`}>
      {!/[*?[]/.test(match) && (
        <>
          A pattern without <code>*</code> is the whole name of a key.{' '}
          <a href={addressWith({ match: `*${match}*` })}>Search for *{match}*</a>
        </>
      )}
    </Empty>
  );
}

function KeyTable(props: { keys: readonly KeySummary[] }) {
  const now = watched.value;
  const rows = props.keys.map((row) => (row.key === now?.key ? { ...row, ...now } : row));
  return <Table columns={KEY_COLUMNS} rows={rows} keyOf={({ key }) => key} label="Keys found" />;
}

const KEY_COLUMNS = [
  head(
    'Key',
    ({ key, isText }: KeySummary) =>
      isText ? (
        <a class="row" href={addressWith({ key })} aria-current={chosen('key') === key || undefined}>
          <Name text={key} />
        </a>
      ) : (
        <span title="This name is not UTF-8: it can be read over RESP only.">
          <Name text={key} /> <span class="note">not text</span>
        </span>
      ),
    'mono',
  ),
  number('Value', ({ value }: KeySummary) => exact(value)),
  number('TTL', ({ expiresAtMs }: KeySummary) => timeLeft(expiresAtMs, Date.now())),
  text('Counted in', ({ regions }: KeySummary) => [...regions].sort().join(', ')),
];

function Watching(props: { source: Source; name: string }) {
  const { base } = props.source;
  const points = useSignal<readonly { atMs: number; value: number }[]>([]);
  const { value: details, trouble } = useWatch(
    `${base} ${props.name}`,
    () => getJson<KeyDetails>(`${base}/api/v1/dashboard/keys/${encodeURIComponent(props.name)}`),
    (now) => {
      points.value = [...points.value, { atMs: Date.now(), value: Number(now.value) }].slice(-HISTORY_POINTS);
      watched.value = now.exists ? { key: props.name, value: now.value, expiresAtMs: now.expiresAtMs } : null;
    },
  );
  useEffect(
    () => () => {
      watched.value = null;
    },
    [],
  );
  if (details === null && trouble === '') return <Loading what="the key" />;
  return (
    <>
      <p class="mono whole">
        <LongName text={props.name} />
      </p>
      <Alert text={trouble === '' ? '' : `The key cannot be read: ${trouble}`} />
      {details !== null && <Details of={details} points={points.value} />}
    </>
  );
}

function Details(props: { of: KeyDetails; points: readonly { atMs: number; value: number }[] }) {
  const { of, points } = props;
  if (!of.exists) return <Empty title="There is no such key">It may have expired or been deleted.</Empty>;
  return (
    <>
      <p class="headline" aria-live="polite">
        <strong>{exact(of.value)}</strong>{' '}
        <span class="note">
          {of.expiresAtMs === 0 ? 'no TTL' : `expires in ${timeLeft(of.expiresAtMs, Date.now())}`}
        </span>
      </p>
      <Chart
        title="Value"
        times={points.map((point) => point.atMs)}
        lines={[{ label: 'value', color: '--chart-1', values: points.map((point) => point.value) }]}
        unit={WHOLE}
        isFromZero={false}
      />
      <h3>Components</h3>
      <p class="caption">What each region has counted. The value is everything added less everything subtracted.</p>
      <Table columns={COMPONENT_COLUMNS} rows={of.components} keyOf={(one) => one.region + one.incarnation} />
    </>
  );
}

const COMPONENT_COLUMNS = [
  text('Origin', ({ region, isOwn, incarnation }: ComponentDetails) => (
    <>
      {region}
      {isOwn && ' (this region)'} <span class="note mono">{incarnation.slice(0, 8)}</span>
    </>
  )),
  number('Added', ({ added }: ComponentDetails) => exact(added)),
  number('Subtracted', ({ taken }: ComponentDetails) => exact(taken)),
  number('Changed', ({ changedAtMs }: ComponentDetails) => moment(changedAtMs, Date.now())),
];
