import type { PeerFigures, TokenFlow } from '../../src/snapshot.js';
import { growth, regions } from '../live/regions.js';
import { bytes, count, milliseconds } from './format.js';
import { Panel, State } from './panel.js';
import { number, Table, text } from './table.js';

interface Link {
  readonly from: string;
  readonly to: string;
  readonly peer: PeerFigures;
}

/** A longer lag is shown as a warning. */
const NOTABLE_LAG_MS = 1000;
const WIDTH = 720;
const TWO_HEIGHT = 130;
const ROUND_HEIGHT = 380;
const LINE_PIXELS = 18;
const DOT_DELAYS_SECONDS = [0, 0.8, 1.6];

/** Regions in a circle with the links between them; below it the same figures as a table. */
export function RegionMap() {
  const links = allLinks();
  if (links.length === 0) return null;
  const names = [...new Set(links.flatMap((link) => [link.from, link.to]))].sort();
  const place = new Map(names.map((name, index) => [name, placeOf(index, names.length)]));
  const pairs = new Map<string, Link[]>();
  for (const link of links) {
    const pair = [link.from, link.to].sort().join('\n');
    pairs.set(pair, [...(pairs.get(pair) ?? []), link]);
  }
  return (
    <Panel title="Regions">
      <svg class="map" viewBox={`0 0 ${WIDTH} ${heightFor(names.length)}`} aria-hidden="true">
        {[...pairs.entries()].map(([name, pair]) => (
          <Edge key={name} pair={pair} place={place} flows={flowsOf(pair[0])} />
        ))}
        {names.map((name) => {
          const [x, y] = place.get(name) as [number, number];
          return (
            <g class="node" key={name}>
              <circle cx={x} cy={y} r="34" stroke={`var(--${stateOfRegion(name)})`} />
              <text x={x} y={y + 5} text-anchor="middle">
                {name.length > 8 ? `${name.slice(0, 7)}…` : name}
              </text>
            </g>
          );
        })}
      </svg>
      <Table columns={LINK_COLUMNS} rows={links} keyOf={({ from, to }) => `${from} ${to}`} />
    </Panel>
  );
}

interface Flow {
  readonly from: string;
  readonly to: string;
  readonly tokensPerSecond: number;
}

/** Tokens of quotas that went either way in the last ten seconds; by the figures of the giving region, if known. */
function flowsOf({ from, to }: Link): Flow[] {
  const flow = (giver: string, taker: string): Flow => {
    const amount = (of: string, about: string, pick: (one: TokenFlow) => number) => {
      const region = regions.value.get(of);
      if (region?.isConnected !== true) return null;
      return growth(region.recent, (one) => {
        const found = one.tokenFlow.find((other) => other.region === about);
        return found === undefined ? 0 : pick(found);
      });
    };
    const given = amount(giver, taker, (one) => one.givenTotal);
    return {
      from: giver,
      to: taker,
      tokensPerSecond: given ?? amount(taker, giver, (one) => one.receivedTotal) ?? 0,
    };
  };
  return [flow(from, to), flow(to, from)].filter(({ tokensPerSecond }) => tokensPerSecond > 0);
}

function Edge(props: { pair: readonly Link[]; place: ReadonlyMap<string, [number, number]>; flows: readonly Flow[] }) {
  const [{ from, to }] = props.pair;
  const [x1, y1] = props.place.get(from) as [number, number];
  const [x2, y2] = props.place.get(to) as [number, number];
  const states = props.pair.map(({ peer }) => stateOf(peer));
  const state = states.includes('bad') ? 'bad' : states.includes('warn') ? 'warn' : 'good';
  const lag = Math.max(...props.pair.map(({ peer }) => peer.lagMs));
  // The last ten seconds may be from before the link was lost.
  const flows = state === 'bad' ? [] : props.flows;
  const x = (x1 + x2) / 2;
  const y = (y1 + y2) / 2;
  return (
    <g>
      <path
        class={`link ${state === 'good' ? 'moving' : ''}`}
        d={`M${x1} ${y1} L${x2} ${y2}`}
        stroke={`var(--${state})`}
      />
      {flows.map((flow) => (
        <Tokens key={flow.from} from={props.place.get(flow.from)!} to={props.place.get(flow.to)!} />
      ))}
      <rect x={x - 74} y={y - 12} width="148" height={24 + flows.length * LINE_PIXELS} rx="6" fill="var(--panel)" />
      <text class="small" x={x} y={y + 5} text-anchor="middle">
        {state === 'bad' ? 'no link' : `lag ${milliseconds(lag)}`}
      </text>
      {flows.map((flow, index) => (
        <text
          class="small tokens"
          key={flow.from}
          x={x}
          y={y + 5 + (index + 1) * LINE_PIXELS}
          text-anchor="middle"
        >{`${flow.from} → ${flow.to} ${tokens(flow.tokensPerSecond)}`}</text>
      ))}
    </g>
  );
}

/** Dots on their way from one region to another. */
function Tokens(props: { from: [number, number]; to: [number, number] }) {
  // Preact's types do not know this attribute of animateMotion.
  const along: object = { path: `M${props.from.join(' ')} L${props.to.join(' ')}` };
  return (
    <g class="tokens-moving">
      {DOT_DELAYS_SECONDS.map((delay) => (
        <circle key={delay} r="4.5" fill="var(--accent)">
          <animateMotion dur="2.4s" begin={`${-delay}s`} repeatCount="indefinite" {...along} />
        </circle>
      ))}
    </g>
  );
}

function tokens(perSecond: number): string {
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(perSecond)} tokens/s`;
}

const LINK_COLUMNS = [
  text('From', ({ from }: Link) => from),
  text('To', ({ to }: Link) => to),
  text('State', ({ peer }: Link) => (
    <>
      <State dot={stateOf(peer)}>
        {peer.state}
        {peer.joinedPercent < 100 && `, ${peer.joinedPercent} % copied`}
      </State>
      {peer.trouble !== '' && <div class="trouble">{peer.trouble}</div>}
    </>
  )),
  number('Lag', ({ peer }: Link) => milliseconds(peer.lagMs)),
  number('View is as of', ({ peer }: Link) => (peer.ageMs < 0 ? 'never' : `${milliseconds(peer.ageMs)} ago`)),
  number('Round trip', ({ peer }: Link) => milliseconds(peer.roundTripMs)),
  number('Clock ahead', ({ peer }: Link) => `${Math.round(peer.skewMs)} ms`),
  number('Sent', ({ peer }: Link) => bytes(peer.bytesOut)),
  number('Received', ({ peer }: Link) => bytes(peer.bytesIn)),
  number('Repairs', ({ peer }: Link) => peer.repairs),
  number('Tokens given', ({ from, to }: Link) => count(tokensGiven(from, to))),
];

function tokensGiven(from: string, to: string): number {
  return regions.value.get(from)?.snapshot?.tokenFlow.find(({ region }) => region === to)?.givenTotal ?? 0;
}

function allLinks(): Link[] {
  const links: Link[] = [];
  for (const { source, snapshot, isConnected } of regions.value.values()) {
    if (snapshot === null || !isConnected) continue;
    for (const peer of snapshot.replication?.peers ?? []) links.push({ from: source.region, to: peer.region, peer });
  }
  return links;
}

function stateOf(peer: PeerFigures): 'good' | 'warn' | 'bad' {
  if (peer.state !== 'connected') return 'bad';
  return peer.lagMs > NOTABLE_LAG_MS || peer.lagMs < 0 ? 'warn' : 'good';
}

/** The state of a region that sends snapshots is known; that of another follows from its links. */
function stateOfRegion(name: string): string {
  const region = regions.value.get(name);
  if (region !== undefined) return region.isConnected ? 'good' : 'bad';
  const links = allLinks().filter((link) => link.to === name);
  return links.some((link) => stateOf(link.peer) !== 'bad') ? 'good' : 'bad';
}

function heightFor(total: number): number {
  return total <= 2 ? TWO_HEIGHT : ROUND_HEIGHT;
}

function placeOf(index: number, total: number): [number, number] {
  const middle = heightFor(total) / 2;
  if (total <= 2) return [WIDTH / 2 + (index - (total - 1) / 2) * 500, middle];
  const angle = (index / total) * 2 * Math.PI - Math.PI / 2;
  return [WIDTH / 2 + Math.cos(angle) * 250, middle + Math.sin(angle) * 120];
}
