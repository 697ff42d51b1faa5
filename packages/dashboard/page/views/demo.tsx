import { signal } from '@preact/signals';
import type { DemoState, Outcomes } from '../../src/demo.js';
import { getJson, post } from '../connection.js';
import { count } from '../format.js';
import { Panel } from '../parts/tile.js';
import { TokenBar } from '../parts/token-bar.js';
import { QuotaWatch } from '../quota-watch.js';

const state = signal<DemoState | null>(null);
const trouble = signal('');
const watch = new QuotaWatch();
const REFRESH_MS = 500;

/** What can be done to the demo's regions, and what its clients see. */
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
          Traffic: {count(now.requestsPerSecond)} a second in each region
          <input
            type="range"
            min="0"
            max={String(TRAFFIC.length - 1)}
            step="1"
            value={String(TRAFFIC.indexOf(nearest(now.requestsPerSecond)))}
            aria-valuetext={`${now.requestsPerSecond} a second`}
            onChange={(event) => act('traffic', { requestsPerSecond: TRAFFIC[Number(event.currentTarget.value)] })}
          />
        </label>
      </div>
      {trouble.value !== '' && (
        <p class="trouble" role="alert">
          {trouble.value}
        </p>
      )}
      {props.isWhole && watch.details.value !== null && (
        <>
          <h3>
            Emails of <code>{watch.subject.value}</code> this minute, and where they are
          </h3>
          <TokenBar of={watch.details.value} />
        </>
      )}
    </Panel>
  );
}

/** What the clients of each region see. */
function Clients(props: { of: DemoState }) {
  const { of } = props;
  const totals = new Set(of.regions.filter(({ isRunning }) => isRunning).map(({ total }) => total));
  return (
    <>
      <p class="note">
        Three regions, each a process of its own. Their clients count requests, ask a rate limit that all regions share,
        and take emails from a quota that none can overdraw. Cut a link, kill a region, and watch.
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Region</th>
              <th class="number">All requests, as known here</th>
              <th class="number">Calls a second</th>
              <th class="number">Emails a second</th>
            </tr>
          </thead>
          <tbody>
            {of.regions.map((region) => (
              <tr key={region.name}>
                <th scope="row">
                  <span class="state">
                    <span class={`dot ${region.isRunning ? 'good' : 'bad'}`} />
                    {region.name}
                  </span>
                </th>
                <td class="number">{region.total}</td>
                <td class="number">{outcomes(region.calls)}</td>
                <td class="number">{outcomes(region.emails)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="note" role="status">
        {of.regions.some(({ isRunning }) => !isRunning) || of.links.some(({ isCut }) => isCut)
          ? 'Regions that do not hear each other go on counting by themselves.'
          : totals.size === 1
            ? 'All regions know the same total.'
            : 'The totals differ by what is on its way.'}
      </p>
    </>
  );
}

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
      // The banner says already that nobody answers.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}
