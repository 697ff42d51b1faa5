import { colorOf, type Point, regions } from '../live/regions.js';
import { Chart, type Line } from './chart.js';

/** A line for each region, over the times of all snapshots. */
export function TimeChart(props: {
  title: string;
  pick: (point: Point) => number | null;
  format: (value: number) => string;
}) {
  const all = [...regions.value.values()];
  const seconds = (point: Point) => Math.round(point.atMs / 1000);
  const times = [...new Set(all.flatMap((region) => region.history.map(seconds)))].sort((one, other) => one - other);
  const lines = all.map((region): Line => {
    const values = new Map(region.history.map((point) => [seconds(point), props.pick(point)]));
    return {
      label: region.source.region,
      color: colorOf(region.source.region),
      values: times.map((time) => values.get(time) ?? null),
    };
  });
  return <Chart title={props.title} times={times.map((time) => time * 1000)} lines={lines} format={props.format} />;
}
