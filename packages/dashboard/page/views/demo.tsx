import { signal } from '@preact/signals';
import type { DemoRegion, DemoState, Outcomes } from '../../src/demo.js';
import { getJson, post } from '../live/connection.js';
import { QuotaWatch } from '../live/quota-watch.js';
import { count } from '../parts/format.js';
import { Alert, Panel, State } from '../parts/panel.js';
import { head, number, Table } from '../parts/table.js';
import { TokenBar } from '../parts/token-bar.js';

const state = signal<DemoState | null>(null);
const trouble = signal('');
const watch = new QuotaWatch();
const REFRESH_MS = 500;

/** Buttons that cut links and kill regions, and the figures of the demo's clients. */
export function Demo(props: { isWhole: boolean }) {
  const now = state.value;
  if (now === null) return null;
  return (
    <Panel title="Try it">
      {props.isWhole && <Clients of={now} />}
      <div class="controls">
        {now.regions.map((region) => (
          <button
            key={region.name}
            type="button"
            class={region.isRunning ? '' : 'cut'}
            onClick={() => act(region.isRunning ? 'kill' : 'start', { region: region.name })}
          >
            {region.isRunning ? 'Kill' : 'Start'} {region.name}
          </button>
        ))}
        {now.links.map((link) => (
          <button
            key={`${link.from}-${link.to}`}
            type="button"
            class={link.isCut ? 'cut' : ''}
            onClick={() => act(link.isCut ? 'heal' : 'cut', { from: link.from, to: link.to })}
          >
            {link.isCut ? 'Heal' : 'Cut'} {link.from} – {link.to}
          </button>
        ))}
        <label>
          Traffic: {count(now.requestsPerSecond)} per second in each region
          <input
            type="range"
            min="0"
            max={String(TRAFFIC.length - 1)}
            step="1"
            value={String(TRAFFIC.indexOf(nearest(now.requestsPerSecond)))}
            aria-valuetext={`${now.requestsPerSecond} per second`}
            onChange={(event) => act('traffic', { requestsPerSecond: TRAFFIC[Number(event.currentTarget.value)] })}
          />
        </label>
      </div>
      <Alert text={trouble.value} />
      {props.isWhole && watch.details.value !== null && (
        <>
          <h3>
            Where the emails of <code>{watch.subject.value}</code> for this minute are
          </h3>
          <TokenBar of={watch.details.value} />
        </>
      )}
    </Panel>
  );
}

/** The figures of the clients in each region. */
function Clients(props: { of: DemoState }) {
  const { of } = props;
  const totals = new Set(of.regions.filter(({ isRunning }) => isRunning).map(({ total }) => total));
  return (
    <>
      <p class="note">
        Three regions, each a process of its own. Their clients count requests, ask a rate limit that all regions share,
        and take emails from a quota that no region can overdraw. Cut a link, kill a region, and watch.
      </p>
      <Table columns={CLIENT_COLUMNS} rows={of.regions} keyOf={({ name }) => name} />
      <p class="note" role="status">
        {of.regions.some(({ isRunning }) => !isRunning) || of.links.some(({ isCut }) => isCut)
          ? 'Regions without a link go on counting, each for itself.'
          : totals.size === 1
            ? 'All regions know the same total.'
            : 'The totals differ by the counts on their way.'}
      </p>
    </>
  );
}

const CLIENT_COLUMNS = [
  head('Region', ({ name, isRunning }: DemoRegion) => <State dot={isRunning ? 'good' : 'bad'}>{name}</State>),
  number('All requests, as known here', ({ total }: DemoRegion) => total),
  number('Calls per second', ({ calls }: DemoRegion) => outcomes(calls)),
  number('Emails per second', ({ emails }: DemoRegion) => outcomes(emails)),
];

const TRAFFIC = [0, 10, 100, 500, 1000, 3000];

function outcomes({ allowed, denied }: Outcomes): string {
  return denied === 0 ? count(allowed) : `${count(allowed)} + ${count(denied)} denied`;
}

function nearest(value: number): number {
  return TRAFFIC.reduce((best, step) => (Math.abs(step - value) < Math.abs(best - value) ? step : best));
}

function act(what: string, body: object): void {
  post(`/demo/${what}`, body).then(
    () => {
      trouble.value = '';
    },
    (error: Error) => {
      trouble.value = error.message;
    },
  );
}

export async function followDemo(): Promise<void> {
  for (;;) {
    try {
      const now = await getJson<DemoState>('/demo/state');
      if (watch.name.value !== now.quota.name) watch.watch(now.quota.name, now.quota.subject);
      state.value = now;
    } catch {
      // The banner already says that the server does not answer.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}
