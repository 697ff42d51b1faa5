import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, moment } from './format.js';
import { Name } from './name.js';
import { alone, labelsFor, type Scale, scaleFor, type Unit } from './scale.js';
import { isDark } from './screen.js';
import 'uplot/dist/uPlot.min.css';

export interface Line {
  readonly label: string;
  /** A CSS variable. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly title: string;
  /** In milliseconds, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly unit: Unit;
  /** False for figures that only grow, so that their growth can be seen. */
  readonly isFromZero?: boolean;
  /** Charts with the same name show the same instant when one of them is pointed at. */
  readonly together?: string;
}

/** Lines over time. The values of the instant that is pointed at are below it; else those of now. */
export function Chart(props: ChartProps) {
  const isKnown = props.lines.some(({ values }) => values.some((value) => value !== null));
  return isKnown ? <Plot {...props} /> : <div class="chart empty">No figures yet.</div>;
}

function Plot(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const pointed = useSignal<number | null>(null);
  const shape = `${isDark.value} ${props.lines.map((line) => line.label).join('\n')}`;
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const made = new uPlot(optionsFor(element, latest, pointed), data(props), element);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data(props)), [stampOf(props), shape]);
  const last = props.times.length - 1;
  const at = Math.min(pointed.value ?? last, last);
  return (
    <figure class="figure">
      <div
        class="chart"
        ref={place}
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the instant that is shown
        tabIndex={0}
        aria-label={describe(props)}
        onKeyDown={(event) => {
          const step = KEY_STEPS[event.key];
          if (step === undefined) return;
          event.preventDefault();
          const to = Math.max(0, Math.min(last, at + step));
          pointed.value = to === last ? null : to;
          plot.current?.setCursor({ left: plot.current.valToPos(props.times[to] / 1000, 'x'), top: 0 }, false);
        }}
      />
      <figcaption class="legend">
        <span class="instant">{pointed.value === null ? 'now' : moment(props.times[at], props.times[last])}</span>
        {props.lines.map((line) => (
          <span key={line.label} class="entry">
            <i style={`background:var(${line.color})`} />
            <Name text={line.label} />{' '}
            <b>{written(pointed.value === null ? latestOf(line) : line.values[at], props.unit)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const KEY_STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -30,
  PageDown: 30,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Changes with the data: pointing at a chart draws it anew, too, and must not set it again. */
function stampOf({ times, lines }: ChartProps): string {
  const known = lines.map(({ values }) => `${values.filter((value) => value !== null).length} ${values.at(-1)}`);
  return [times[0], times.at(-1), times.length, ...known].join(',');
}

/** Regions answer at slightly different times: the newest value may be a moment old. */
const STILL_NOW = 3;

function latestOf({ values }: Line): number | null {
  return values.slice(-STILL_NOW).findLast((value) => value !== null) ?? null;
}

function written(value: number | null | undefined, unit: Unit): string {
  return value === null || value === undefined ? '–' : unit.format(value);
}

const FONT = '11px ui-sans-serif, system-ui, sans-serif';
const LABEL_GAP = 10;
const CHARACTER_PIXELS = 6.4;
/** Half of the point that marks the last value. */
const RIGHT_PIXELS = 4;
/** Leaves room for half of the first label of the time axis. */
const SHORTEST_LABEL = 3;

function optionsFor(
  element: HTMLElement,
  latest: { readonly current: ChartProps },
  pointed: { value: number | null },
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const scale = (): Scale => {
    const values = latest.current.lines.flatMap((line) => line.values.filter((value) => value !== null));
    const { unit, isFromZero } = latest.current;
    return scaleFor(unit, Math.min(...values, Infinity), Math.max(...values, -Infinity), isFromZero !== false);
  };
  const axis = { stroke: color('--soft'), ticks: { show: false }, font: FONT };
  const { together } = latest.current;
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    padding: [8, RIGHT_PIXELS, 0, 0],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 7 },
      ...(together !== undefined && { sync: { key: together } }),
    },
    scales: {
      x: { range: (_, from, to) => [from, Math.max(to, from + 1)] },
      y: { range: () => [scale().low, scale().high] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 80,
        size: 26,
        gap: 8,
        incrs: TIME_STEPS,
        values: (plot, ticks, _axis, _space, step) => withoutCut(plot, ticks, timeLabels(ticks, step)),
      },
      {
        ...axis,
        grid: { stroke: color('--line'), width: 1 },
        gap: LABEL_GAP / 2,
        size: (_, labels) =>
          Math.ceil(Math.max(SHORTEST_LABEL, ...(labels ?? []).map((label) => label.length)) * CHARACTER_PIXELS) +
          LABEL_GAP,
        splits: () => [...scale().ticks],
        values: (_, ticks) => labelsFor(latest.current.unit, ticks),
      },
    ],
    series: [
      {},
      ...(latest.current.lines.map((line) => ({
        label: line.label,
        stroke: color(line.color),
        width: 1.75,
        // A line needs two points.
        points: { show: true, filter: ({ data }, index) => alone(data[index]), size: 6 },
        fill: latest.current.lines.length === 1 ? `${color(line.color)}14` : undefined,
      })) as uPlot.Series[]),
    ],
    hooks: {
      setCursor: [
        ({ cursor }) => {
          pointed.value = cursor.left === undefined || cursor.left < 0 ? null : (cursor.idx ?? null);
        },
      ],
    },
  };
}

/** In seconds: round for a clock. */
const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600];

/** Without the last labels where half of one would be past the edge of the plot. */
function withoutCut(plot: uPlot, ticks: readonly number[], labels: readonly string[]): string[] {
  const width = plot.bbox.width / devicePixelRatio + RIGHT_PIXELS;
  const isCut = (tick: number, label: string) =>
    plot.valToPos(tick, 'x') + (label.length * CHARACTER_PIXELS) / 2 > width;
  return labels.map((label, index) => (isCut(ticks[index], label) ? '' : label));
}

/** Hours and minutes; seconds only where the axis needs them. */
function timeLabels(ticks: readonly number[], step: number): string[] {
  return ticks.map((tick) => (step < 60 ? clock(tick * 1000) : clock(tick * 1000).slice(0, 5)));
}

function data({ times, lines }: ChartProps): uPlot.AlignedData {
  return [times.map((time) => time / 1000), ...lines.map((line) => [...line.values])] as uPlot.AlignedData;
}

function describe({ title, lines, unit }: ChartProps): string {
  const now = lines.map((line) => `${line.label} ${written(latestOf(line), unit)}`);
  return `${title}, now: ${now.join(', ')}. Arrow keys show earlier values.`;
}
