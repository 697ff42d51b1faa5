import {
  allLinks,
  allNames,
  type Dot,
  type Flow,
  flowsBetween,
  type Link,
  pairOf,
  stateOfLink,
  stateOfRegion,
  unseenPairs,
} from '../live/links.js';
import { knownRegions, sources } from '../live/regions.js';
import { count, milliseconds } from './format.js';
import { LinkTable, lagOf } from './link-table.js';
import { Panel } from './panel.js';
import { isNarrow } from './screen.js';
import { cut, visibleText } from './visible.js';

interface Shape {
  readonly width: number;
  readonly height: number;
  readonly nodeWidth: number;
  readonly place: ReadonlyMap<string, readonly [number, number]>;
}

const NODE_HEIGHT = 46;
const LINE_PIXELS = 17;
const CHARACTER_PIXELS = 6.3;
const DOT_DELAYS_SECONDS = [0, 0.8, 1.6];
/** With more regions, links that are fine have no label: there would be no room. */
const MOST_LABELLED = 4;

/** Regions in a circle with the links between them; below it the same figures as a table. */
export function RegionMap() {
  const links = allLinks();
  const names = allNames(links);
  if (names.length < 2) return null;
  const shape = shapeFor(names);
  const pairs = new Map<string, Link[]>();
  for (const link of links) {
    const pair = pairOf(link.from, link.to);
    pairs.set(pair, [...(pairs.get(pair) ?? []), link]);
  }
  const unseen = unseenPairs(links);
  return (
    <Panel title="Regions" caption={captionOf(unseen)}>
      <svg
        class="map"
        viewBox={`0 0 ${shape.width} ${shape.height}`}
        style={`max-width:${shape.width}px`}
        aria-hidden="true"
      >
        {unseen.map(([one, other]) => (
          <path key={pairOf(one, other)} class="link unseen" d={between(shape, one, other)} />
        ))}
        {[...pairs.entries()].map(([name, pair]) => (
          <Edge key={name} pair={pair} shape={shape} />
        ))}
        {[...pairs.entries()].map(([name, pair]) => (
          <Label key={name} pair={pair} shape={shape} isLabelled={names.length <= MOST_LABELLED} />
        ))}
        {names.map((name) => (
          <Node key={name} name={name} shape={shape} links={links} />
        ))}
      </svg>
      <LinkTable links={links} />
    </Panel>
  );
}

function captionOf(unseen: readonly (readonly [string, string])[]): string {
  const asked = sources.value?.sources.map(({ region }) => region) ?? [];
  const whose = asked.length === 1 ? `As ${asked[0]} sees it.` : 'Each link by the figures of the regions at its ends.';
  if (unseen.length === 0) return whose;
  const pairs = unseen.map(([one, other]) => `${one} – ${other}`).join(', ');
  return (
    `${whose} Not seen from here: ${pairs}; the dashboards of ` +
    `those regions show ${unseen.length === 1 ? 'it' : 'them'}.`
  );
}

function Node(props: { name: string; shape: Shape; links: readonly Link[] }) {
  const { name, shape, links } = props;
  const [x, y] = shape.place.get(name) as [number, number];
  const { dot, words } = stateOfRegion(name, links);
  const traffic = knownRegions().find(({ source }) => source.region === name)?.snapshot.traffic;
  return (
    <g class={`node ${dot}`}>
      <rect x={x - shape.nodeWidth / 2} y={y - NODE_HEIGHT / 2} width={shape.nodeWidth} height={NODE_HEIGHT} rx="10" />
      <circle cx={x - shape.nodeWidth / 2 + 15} cy={y} r="4.5" class={dot} />
      <text x={x - shape.nodeWidth / 2 + 27} y={y - 2}>
        {cutTo(name, (shape.nodeWidth - 32) / 8)}
      </text>
      <text class="small" x={x - shape.nodeWidth / 2 + 27} y={y + 14}>
        {traffic === undefined
          ? isNarrow.value && dot === 'bad'
            ? 'down'
            : words
          : `${count(traffic.commandsPerSecond)}/s`}
      </text>
    </g>
  );
}

function Edge(props: { pair: readonly Link[]; shape: Shape }) {
  const [{ from, to }] = props.pair;
  const state = worst(props.pair);
  return (
    <g>
      <path class={`link ${state}`} d={between(props.shape, from, to)} />
      {flowsOf(props.pair, state).map((flow) => (
        <Tokens key={flow.from} path={between(props.shape, flow.from, flow.to)} />
      ))}
    </g>
  );
}

/** Drawn behind all links, so that no line crosses it. */
function Label(props: { pair: readonly Link[]; shape: Shape; isLabelled: boolean }) {
  const { pair, shape } = props;
  const [{ from, to }] = pair;
  const state = worst(pair);
  if (state === 'good' && !props.isLabelled) return null;
  const [x1, y1] = shape.place.get(from) as [number, number];
  const [x2, y2] = shape.place.get(to) as [number, number];
  const flows = isNarrow.value ? [] : flowsOf(pair, state);
  const lag = Math.max(...pair.map(({ peer }) => peer.lagMs));
  const first = pair.find(({ peer }) => stateOfLink(peer) === state) ?? pair[0];
  const lines = [
    state === 'bad' ? `no link${lag >= 0 ? `, ${milliseconds(lag)}` : ''}` : lagOf(first.peer),
    ...flows.map((flow) => `${flow.from} → ${flow.to}: ${count(flow.tokensPerSecond)} tokens/s`),
  ];
  const width = Math.max(...lines.map((line) => line.length)) * CHARACTER_PIXELS + 16;
  const height = 22 + flows.length * LINE_PIXELS;
  const [x, top] = [(x1 + x2) / 2, (y1 + y2) / 2 - height / 2];
  return (
    <g class={`label ${state}`}>
      <rect x={x - width / 2} y={top} width={width} height={height} rx="11" />
      {lines.map((line, index) => (
        <text key={line.split(':')[0]} class="small" x={x} y={top + 15 + index * LINE_PIXELS} text-anchor="middle">
          {line}
        </text>
      ))}
    </g>
  );
}

/** Dots on their way from one region to another: ordinary work, so in a quiet color. */
function Tokens(props: { path: string }) {
  // Preact's types do not know this attribute of animateMotion.
  const along: object = { path: props.path };
  return (
    <g class="tokens-moving">
      {DOT_DELAYS_SECONDS.map((delay) => (
        <circle key={delay} r="3.5">
          <animateMotion dur="2.4s" begin={`${-delay}s`} repeatCount="indefinite" {...along} />
        </circle>
      ))}
    </g>
  );
}

/** The last ten seconds may be from before the link was lost, which a lag shows long before the link is given up. */
function flowsOf([{ from, to }]: readonly Link[], state: Dot): Flow[] {
  return state === 'good' ? flowsBetween(from, to) : [];
}

function worst(pair: readonly Link[]): Dot {
  const states = pair.map(({ peer }) => stateOfLink(peer));
  return states.includes('bad') ? 'bad' : states.includes('warn') ? 'warn' : 'good';
}

function cutTo(name: string, characters: number): string {
  const seen = cut(visibleText(name));
  return seen.length > characters ? `${seen.slice(0, Math.max(1, characters - 1))}…` : seen;
}

function between({ place }: Shape, from: string, to: string): string {
  const [x1, y1] = place.get(from) as [number, number];
  const [x2, y2] = place.get(to) as [number, number];
  return `M${x1} ${y1} L${x2} ${y2}`;
}

function shapeFor(names: readonly string[]): Shape {
  const width = isNarrow.value ? 350 : 820;
  const nodeWidth = isNarrow.value ? 100 : 136;
  const isPair = names.length === 2;
  const height = isPair ? 84 : isNarrow.value ? 300 : 330;
  const radiusX = (width - nodeWidth) / 2 - 4;
  const radiusY = (height - NODE_HEIGHT) / 2 - 6;
  const place = names.map((name, index) => {
    if (isPair) return [name, [width / 2 + (index - 0.5) * 2 * Math.min(radiusX, 260), height / 2]] as const;
    const angle = (index / names.length) * 2 * Math.PI - Math.PI / 2;
    // A triangle does not reach down to the edge of its circle: it is stretched to fill the panel.
    const stretch = names.length === 3 ? [1 / 0.866, 1 / 0.75] : [1, 1];
    const x = width / 2 + Math.cos(angle) * Math.min(radiusX, 300) * stretch[0] * 0.95;
    const y =
      names.length === 3 ? 29 + (Math.sin(angle) + 1) * radiusY * stretch[1] : height / 2 + Math.sin(angle) * radiusY;
    return [name, [clamp(x, nodeWidth / 2 + 2, width - nodeWidth / 2 - 2), y]] as const;
  });
  return { width, height, nodeWidth, place: new Map(place) };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
