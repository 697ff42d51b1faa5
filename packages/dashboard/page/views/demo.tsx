import { signal } from '@preact/signals';
import type { DemoRegion, DemoState, Outcomes } from '../../src/demo.js';
import { getJson, send } from '../live/connection.js';
import { count, exact } from '../parts/format.js';
import { Alert, Panel, State } from '../parts/panel.js';
import { head, number, Table } from '../parts/table.js';
import { Subject } from './quota-subject.js';

type Action = 'kill' | 'start' | 'cut' | 'heal' | 'traffic';

const state = signal<DemoState | null>(null);
const trouble = signal('');
/** What was asked for and is not done yet, by the button that asked. */
const pending = signal<ReadonlyMap<string, Action>>(new Map());
const REFRESH_MS = 500;

const VERBS: Readonly<Record<Action, readonly [now: string, meanwhile: string]>> = {
  kill: ['Kill', 'Killing'],
  start: ['Start', 'Starting'],
  cut: ['Cut', 'Cutting'],
  heal: ['Heal', 'Healing'],
  traffic: ['Set', 'Setting'],
};

/** Buttons that cut links and kill regions, and the figures of the demo's clients. */
export function Demo(props: { isWhole: boolean }) {
  const now = state.value;
  if (now === null) return null;
  return (
    <Panel title="Try it" {...(props.isWhole && { caption: ABOUT })}>
      {props.isWhole && <Clients of={now} />}
      <div class="controls">
        {now.regions.map(({ name, isRunning }) => (
          <Control key={name} what={name} action={isRunning ? 'kill' : 'start'} body={{ region: name }} />
        ))}
        {now.links.map(({ from, to, isCut }) => (
          <Control key={`${from}-${to}`} what={`${from} – ${to}`} action={isCut ? 'heal' : 'cut'} body={{ from, to }} />
        ))}
        <TrafficControl requestsPerSecond={now.requestsPerSecond} />
      </div>
      <Alert text={trouble.value} />
    </Panel>
  );
}

/** Below the map, which is to be seen together with the buttons; nothing where this is no demo. */
export function DemoQuota() {
  const quota = state.value?.quota;
  if (quota === undefined) return null;
  return (
    <Subject
      quota={quota.name}
      subject={quota.subject}
      title={`Where the emails of ${quota.subject} for this minute are`}
    />
  );
}

const ABOUT =
  'Three regions, each a process of its own. Their clients count requests, ask a rate limit that all regions share, ' +
  'and take emails from a quota that no region can overdraw. Cut a link, kill a region, and watch.';

/** Says at once that it was pressed: a region takes a while to start. */
function Control(props: { what: string; action: Action; body: object }) {
  const { what, action } = props;
  const doing = pending.value.get(what);
  const isBroken = action === 'start' || action === 'heal';
  return (
    <button
      type="button"
      class={isBroken ? 'danger' : ''}
      disabled={doing !== undefined}
      aria-busy={doing !== undefined}
      onClick={() => void act(what, action, props.body)}
    >
      {doing !== undefined && <span class="spinner" aria-hidden="true" />}
      {doing === undefined ? `${VERBS[action][0]} ${what}` : `${VERBS[doing][1]} ${what} …`}
    </button>
  );
}

const TRAFFIC = [0, 10, 100, 500, 1000, 3000];

function TrafficControl(props: { requestsPerSecond: number }) {
  const nearest = TRAFFIC.reduce((best, step) =>
    Math.abs(step - props.requestsPerSecond) < Math.abs(best - props.requestsPerSecond) ? step : best,
  );
  return (
    <label class="traffic">
      Traffic: {count(props.requestsPerSecond)} per second in each region
      <input
        type="range"
        min="0"
        max={String(TRAFFIC.length - 1)}
        step="1"
        value={String(TRAFFIC.indexOf(nearest))}
        aria-valuetext={`${props.requestsPerSecond} per second`}
        onChange={(event) =>
          void act('traffic', 'traffic', { requestsPerSecond: TRAFFIC[Number(event.currentTarget.value)] })
        }
      />
    </label>
  );
}

/** The figures of the clients in each region. */
function Clients(props: { of: DemoState }) {
  const { of } = props;
  const totals = new Set(of.regions.filter(({ isRunning }) => isRunning).map(({ total }) => total));
  return (
    <>
      <Table columns={CLIENT_COLUMNS} rows={of.regions} keyOf={({ name }) => name} />
      <p class="caption" role="status">
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
  head('Region', ({ name, isRunning }: DemoRegion) => {
    const doing = pending.value.get(name);
    const words = doing === undefined ? (isRunning ? '' : ' down') : ` ${VERBS[doing][1].toLowerCase()} …`;
    return <State dot={doing !== undefined ? 'warn' : isRunning ? 'good' : 'bad'}>{`${name}${words}`}</State>;
  }),
  number('All requests, as known here', ({ total }: DemoRegion) => (/^\d+$/.test(total) ? exact(total) : total)),
  number('Calls / s', ({ calls }: DemoRegion) => outcomes(calls)),
  number('Emails / s', ({ emails }: DemoRegion) => outcomes(emails)),
];

function outcomes({ allowed, denied }: Outcomes): string {
  return denied === 0 ? count(allowed) : `${count(allowed)} + ${count(denied)} denied`;
}

async function act(what: string, action: Action, body: object): Promise<void> {
  pending.value = new Map(pending.value).set(what, action);
  trouble.value = '';
  try {
    state.value = await send<DemoState>('POST', `/demo/${action}`, body);
  } catch (error) {
    trouble.value = (error as Error).message;
  }
  const rest = new Map(pending.value);
  rest.delete(what);
  pending.value = rest;
}

export async function followDemo(): Promise<void> {
  for (;;) {
    try {
      state.value = await getJson<DemoState>('/demo/state');
    } catch {
      // The banner already says that the server does not answer.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}
