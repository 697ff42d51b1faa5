import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock } from './format.js';
import 'uplot/dist/uPlot.min.css';

export interface Line {
  readonly label: string;
  /** A CSS variable. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

/** Lines over time. A table near it has the same figures, for people who cannot see the lines. */
export function Chart(props: {
  title: string;
  times: readonly number[];
  lines: readonly Line[];
  format: (value: number) => string;
  /** False for figures that only grow, so that their growth can be seen. */
  isFromZero?: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = props.lines.map((line) => line.label).join('\n');
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color('--soft'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { show: false },
      font: '12px system-ui',
    };
    const options: uPlot.Options = {
      width: element.clientWidth,
      height: element.clientHeight - LEGEND_PIXELS,
      legend: { live: false },
      cursor: { show: false },
      scales: {
        x: { range: (_, from, to) => [Math.min(from ?? 0, (to ?? 0) - SHORTEST_SECONDS), to ?? 0] },
        y: { range: (_, low, high) => rangeOf(low ?? 0, high ?? 1, props.isFromZero !== false) },
      },
      axes: [
        { ...axis, space: 90, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000)) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => props.format(tick)) },
      ],
      series: [
        {},
        ...props.lines.map((line) => ({
          label: line.label,
          stroke: color(line.color),
          width: 2,
          points: { show: false },
        })),
      ],
    };
    plot.current = new uPlot(options, data(props), element);
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: element.clientHeight - LEGEND_PIXELS }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data(props)), [props.times.at(-1), shape]);
  return <div class="chart" ref={place} role="img" aria-label={describe(props)} />;
}

const LEGEND_PIXELS = 28;
/** The least time that a chart shows. */
const SHORTEST_SECONDS = 60;

function rangeOf(low: number, high: number, isFromZero: boolean): [number, number] {
  if (isFromZero) return [Math.min(0, low), Math.max(high, 1) * 1.1];
  const room = Math.max((high - low) * 0.1, 1);
  return [low - room, high + room];
}

function data(props: { times: readonly number[]; lines: readonly Line[] }): uPlot.AlignedData {
  return [props.times.map((time) => time / 1000), ...props.lines.map((line) => [...line.values])] as uPlot.AlignedData;
}

function describe(props: { title: string; lines: readonly Line[]; format: (value: number) => string }): string {
  const latest = props.lines.map((line) => {
    const value = line.values.at(-1);
    return `${line.label} ${value === null || value === undefined ? 'not known' : props.format(value)}`;
  });
  return `${props.title}, now: ${latest.join(', ')}`;
}
