import { signal } from '@preact/signals';
import type { DemoState } from '../../src/demo.js';
import { getJson, post } from '../connection.js';
import { count } from '../format.js';
import { Panel } from '../parts/tile.js';

const state = signal<DemoState | null>(null);
const trouble = signal('');
const REFRESH_MS = 500;

/** What can be done to the demo's regions, and what its clients see. */
export function Demo() {
  const now = state.value;
  if (now === null) return null;
  return (
    <Panel title="Try it">
      <p class="note">
        Three regions, each a process of its own, with clients that count requests in all of them. Do something to them.
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Region</th>
              <th class="number">Requests a second</th>
              <th class="number">Total here</th>
              <th>Do</th>
            </tr>
          </thead>
          <tbody>
            {now.regions.map((region) => (
              <tr key={region.name}>
                <th scope="row">
                  <span class="state">
                    <span class={`dot ${region.isRunning ? 'good' : 'bad'}`} />
                    {region.name}
                  </span>
                </th>
                <td class="number">{count(region.requestsPerSecond)}</td>
                <td class="number">{region.total}</td>
                <td>
                  <button
                    type="button"
                    onClick={() => act(region.isRunning ? 'kill' : 'start', { region: region.name })}
                  >
                    {region.isRunning ? 'Kill' : 'Start'} {region.name}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="controls" style="margin-top:0.8rem">
        {now.links.map((link) => (
          <button
            key={`${link.from}-${link.to}`}
            type="button"
            aria-pressed={!link.isCut}
            onClick={() => act(link.isCut ? 'heal' : 'cut', { from: link.from, to: link.to })}
          >
            {link.isCut ? 'Heal' : 'Cut'} {link.from} – {link.to}
          </button>
        ))}
        <label>
          Traffic: {count(now.requestsPerSecond)} a second
          <input
            type="range"
            min="0"
            max="5"
            step="1"
            value={String(TRAFFIC.indexOf(nearest(now.requestsPerSecond)))}
            onChange={(event) => act('traffic', { requestsPerSecond: TRAFFIC[Number(event.currentTarget.value)] })}
          />
        </label>
      </div>
      {trouble.value !== '' && (
        <p class="trouble" role="alert">
          {trouble.value}
        </p>
      )}
    </Panel>
  );
}

const TRAFFIC = [0, 10, 100, 500, 1000, 3000];

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
      state.value = await getJson<DemoState>('/demo/state');
    } catch {
      // The banner says already that nobody answers.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}
