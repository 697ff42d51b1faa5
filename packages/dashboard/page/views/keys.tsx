import { signal } from '@preact/signals';
import type { ComponentDetails, KeyDetails, KeyPage } from '../../src/snapshot.js';
import { getJson } from '../live/connection.js';
import { type Source, sources } from '../live/regions.js';
import { Chart } from '../parts/chart.js';
import { clock, untilTime } from '../parts/format.js';
import { Alert, Panel } from '../parts/panel.js';
import { number, Table, text } from '../parts/table.js';

const match = signal('*');
const found = signal<readonly string[]>([]);
const cursor = signal('');
const watched = signal<string | null>(null);
const details = signal<KeyDetails | null>(null);
const history = signal<readonly { atMs: number; value: number }[]>([]);
const trouble = signal('');
const chosen = signal(0);

const WATCH_INTERVAL_MS = 1000;
const HISTORY_POINTS = 300;
let watching = 0;
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function Keys() {
  const all = sources.value?.sources ?? [];
  return (
    <div class="columns">
      <Panel title="Find a key">
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            void search('');
          }}
        >
          {all.length > 1 && (
            <label>
              Region
              <select
                value={chosen.value}
                onChange={(event) => {
                  chosen.value = Number(event.currentTarget.value);
                  void search('');
                  if (watched.value !== null) watch(watched.value);
                }}
              >
                {all.map((source, index) => (
                  <option key={source.region} value={index}>
                    {source.region}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label>
            Pattern, as in KEYS
            <input
              value={match.value}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => {
                match.value = event.currentTarget.value;
              }}
            />
          </label>
          <button type="submit">Search</button>
        </form>
        <Alert text={trouble.value} />
        <ul class="keys" aria-label="Keys found">
          {found.value.map((key) => (
            <li key={key}>
              <button type="button" class="plain mono" aria-pressed={watched.value === key} onClick={() => watch(key)}>
                {key}
              </button>
            </li>
          ))}
        </ul>
        {cursor.value !== '' && (
          <button type="button" onClick={() => void search(cursor.value)}>
            More
          </button>
        )}
      </Panel>
      <Panel title={watched.value === null ? 'Key' : 'Watching'}>
        {details.value === null ? (
          <p class="note">Choose a key to watch its value, its components by region, and its expiry.</p>
        ) : (
          <Details key={details.value.key} of={details.value} />
        )}
      </Panel>
    </div>
  );
}

function Details(props: { of: KeyDetails }) {
  const { of } = props;
  const points = history.value;
  return (
    <>
      <p>
        <code>{of.key}</code>
      </p>
      <p aria-live="polite">
        <strong style="font-size:1.6rem">{of.exists ? of.value : 'gone'}</strong>{' '}
        {of.exists && <span class="note">expires {untilTime(of.expiresAtMs, Date.now())}</span>}
      </p>
      <Chart
        title="Value"
        times={points.map((point) => point.atMs)}
        lines={[{ label: 'value', color: '--chart-1', values: points.map((point) => point.value) }]}
        format={(value) => whole.format(value)}
        isFromZero={false}
      />
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
  number('Added', ({ added }: ComponentDetails) => added),
  number('Subtracted', ({ taken }: ComponentDetails) => taken),
  number('Changed', ({ changedAtMs }: ComponentDetails) => clock(changedAtMs)),
];

function base(): string {
  const all = sources.value?.sources as readonly Source[];
  return `${(all[chosen.value] ?? all[0]).base}/api/v1/dashboard/keys`;
}

async function search(from: string): Promise<void> {
  try {
    const query = new URLSearchParams({ match: match.value, cursor: from });
    const page = await getJson<KeyPage>(`${base()}?${query}`);
    // A key may be on two pages when the store grows in between.
    found.value = [...new Set(from === '' ? page.keys : [...found.value, ...page.keys])].sort();
    cursor.value = page.cursor;
    trouble.value = '';
  } catch (error) {
    trouble.value = `The search failed: ${(error as Error).message}`;
  }
}

/** Reads a key once a second until another is chosen. */
function watch(key: string): void {
  const turn = ++watching;
  watched.value = key;
  details.value = null;
  history.value = [];
  const look = async () => {
    if (turn !== watching) return;
    try {
      const now = await getJson<KeyDetails>(`${base()}/${encodeURIComponent(key)}`);
      if (turn !== watching) return;
      details.value = now;
      history.value = [...history.value, { atMs: Date.now(), value: Number(now.value) }].slice(-HISTORY_POINTS);
      trouble.value = '';
    } catch (error) {
      trouble.value = `The key cannot be read: ${(error as Error).message}`;
    }
    setTimeout(() => void look(), WATCH_INTERVAL_MS);
  };
  void look();
}

export function firstSearch(): void {
  if (found.value.length === 0) void search('');
}
