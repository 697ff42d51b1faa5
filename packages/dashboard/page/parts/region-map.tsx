import type { PeerFigures } from '../../src/snapshot.js';
import { bytes, milliseconds } from '../format.js';
import { regions } from '../regions.js';
import { Panel } from './tile.js';

interface Link {
  readonly from: string;
  readonly to: string;
  readonly peer: PeerFigures;
}

/** A lag beyond this is worth a look. */
const NOTABLE_LAG_MS = 2000;
const WIDTH = 720;
const TWO_HEIGHT = 130;
const ROUND_HEIGHT = 340;

/** Regions in a circle, with the links between them; below it the same as a table. */
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
          <Edge key={name} pair={pair} place={place} />
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
      <LinkTable links={links} />
    </Panel>
  );
}

function Edge(props: { pair: readonly Link[]; place: ReadonlyMap<string, [number, number]> }) {
  const [{ from, to }] = props.pair;
  const [x1, y1] = props.place.get(from) as [number, number];
  const [x2, y2] = props.place.get(to) as [number, number];
  const states = props.pair.map(({ peer }) => stateOf(peer));
  const state = states.includes('bad') ? 'bad' : states.includes('warn') ? 'warn' : 'good';
  const lag = Math.max(...props.pair.map(({ peer }) => peer.lagMs));
  const x = (x1 + x2) / 2;
  const y = (y1 + y2) / 2;
  return (
    <g>
      <line
        class={`link ${state === 'good' ? 'moving' : ''}`}
        x1={x1}
        y1={y1}
        x2={x2}
        y2={y2}
        stroke={`var(--${state})`}
      />
      <rect x={x - 58} y={y - 12} width="116" height="24" rx="6" fill="var(--panel)" />
      <text class="small" x={x} y={y + 5} text-anchor="middle">
        {state === 'bad' ? 'no link' : `lag ${milliseconds(lag)}`}
      </text>
    </g>
  );
}

function LinkTable(props: { links: readonly Link[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>From</th>
            <th>To</th>
            <th>State</th>
            <th class="number">Lag</th>
            <th class="number">View is as of</th>
            <th class="number">Round trip</th>
            <th class="number">Clock ahead</th>
            <th class="number">Sent</th>
            <th class="number">Received</th>
            <th class="number">Repairs</th>
          </tr>
        </thead>
        <tbody>
          {props.links.map(({ from, to, peer }) => (
            <tr key={`${from} ${to}`}>
              <td>{from}</td>
              <td>{to}</td>
              <td>
                <span class="state">
                  <span class={`dot ${stateOf(peer)}`} />
                  {peer.state}
                  {peer.joinedPercent < 100 && `, ${peer.joinedPercent} % copied`}
                </span>
                {peer.trouble !== '' && <div class="trouble">{peer.trouble}</div>}
              </td>
              <td class="number">{milliseconds(peer.lagMs)}</td>
              <td class="number">{peer.ageMs < 0 ? 'never' : `${milliseconds(peer.ageMs)} ago`}</td>
              <td class="number">{milliseconds(peer.roundTripMs)}</td>
              <td class="number">{Math.round(peer.skewMs)} ms</td>
              <td class="number">{bytes(peer.bytesOut)}</td>
              <td class="number">{bytes(peer.bytesIn)}</td>
              <td class="number">{peer.repairs}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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

/** A region that is heard directly is there; of another only its links can tell. */
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
