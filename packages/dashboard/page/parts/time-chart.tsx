import type { HistoryField } from '../../src/snapshot.js';
import { seriesOf } from '../live/past.js';
import { colorOf } from '../live/regions.js';
import { Chart, type Line } from './chart.js';
import type { Unit } from './scale.js';

/** Clocks of regions differ by parts of a second: a value that falls into the second beside its own leaves no gap. */
const BRIDGED_SECONDS = 3;

function bridge(times: readonly number[], values: readonly (number | null)[]): (number | null)[] {
  return values.map((value, index) => {
    const isBridged = value === null && times[index + 1] - times[index - 1] <= BRIDGED_SECONDS;
    return isBridged && (values[index + 1] ?? null) !== null ? (values[index - 1] ?? null) : value;
  });
}

/** A figure over the chosen range, with a line for each region. */
export function TimeChart(props: { title: string; field: HistoryField; unit: Unit }) {
  const all = seriesOf(props.field);
  const times = [...new Set(all.flatMap(({ values }) => [...values.keys()]))].sort((one, other) => one - other);
  const lines = all.map(
    ({ region, values }): Line => ({
      label: region,
      color: colorOf(region),
      values: bridge(
        times,
        times.map((time) => values.get(time) ?? null),
      ),
    }),
  );
  return (
    <Chart
      title={props.title}
      times={times.map((time) => time * 1000)}
      lines={lines}
      unit={props.unit}
      together="range"
    />
  );
}
