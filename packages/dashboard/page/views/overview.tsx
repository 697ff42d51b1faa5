import { bytes, count, duration, microseconds, milliseconds } from '../format.js';
import { Chart, type Line } from '../parts/chart.js';
import { RegionMap } from '../parts/region-map.js';
import { Panel, Tile } from '../parts/tile.js';
import { type Point, type Region, regions } from '../regions.js';

const COLORS = ['--chart-1', '--chart-2', '--chart-3', '--good', '--warn'];

export function Overview() {
  const all = [...regions.value.values()];
  const heard = all.filter((region) => region.snapshot !== null);
  if (heard.length === 0) return <p class="note">Waiting for the first figures …</p>;
  const sum = (pick: (region: Region) => number) => heard.reduce((total, region) => total + pick(region), 0);
  const worst = (pick: (region: Region) => number | null) =>
    heard.reduce<number | null>((most, region) => {
      const value = pick(region);
      return value === null ? most : Math.max(most ?? 0, value);
    }, null);
  const lag = worst((region) => region.history.at(-1)?.lagMs ?? null);
  return (
    <>
      <dl class="tiles">
        <Tile name="Commands a second" value={count(sum((region) => region.snapshot!.traffic.commandsPerSecond))} />
        <Tile
          name="p99 in the server"
          value={microseconds(worst((region) => region.snapshot!.traffic.p99Microseconds))}
        />
        <Tile
          name="Keys"
          value={count(
            heard.length === 1 ? sum((r) => r.snapshot!.memory.keys) : (worst((r) => r.snapshot!.memory.keys) ?? 0),
          )}
        />
        <Tile
          name="Memory"
          value={bytes(sum((region) => region.snapshot!.memory.usedBytes))}
          more={`of ${bytes(sum((region) => region.snapshot!.memory.maximumBytes))}`}
        />
        <Tile name="Connections" value={count(sum((region) => region.snapshot!.traffic.connections))} />
        <Tile name="Greatest lag" value={lag === null ? '–' : milliseconds(lag)} />
      </dl>
      <RegionMap />
      <div class="columns">
        <Panel title="Commands a second">
          <TimeChart title="Commands a second" pick={(point) => point.commandsPerSecond} format={count} />
        </Panel>
        <Panel title="p99 in the server">
          <TimeChart title="p99 in the server" pick={(point) => point.p99Microseconds} format={microseconds} />
        </Panel>
        <Panel title="Lag of the slowest peer">
          <TimeChart title="Lag of the slowest peer" pick={(point) => point.lagMs} format={milliseconds} />
        </Panel>
        <Panel title="Memory">
          <TimeChart title="Memory" pick={(point) => point.usedBytes} format={bytes} />
        </Panel>
      </div>
      <Panel title="Servers">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Region</th>
                <th>Up</th>
                <th>Version</th>
                <th>Transport</th>
                <th class="number">Lanes</th>
                <th class="number">Longest pause</th>
                <th class="number">Process</th>
              </tr>
            </thead>
            <tbody>
              {heard.map(({ snapshot }) => (
                <tr key={snapshot!.server.region}>
                  <th scope="row">{snapshot!.server.region}</th>
                  <td>{duration(snapshot!.server.uptimeSeconds)}</td>
                  <td>{snapshot!.server.version}</td>
                  <td>{snapshot!.server.transport}</td>
                  <td class="number">{snapshot!.server.lanes}</td>
                  <td class="number">{microseconds(snapshot!.traffic.longestTurnMicroseconds)}</td>
                  <td class="number">{snapshot!.server.processId}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </>
  );
}

/** A line for each region, over the times that any of them was heard. */
function TimeChart(props: { title: string; pick: (point: Point) => number | null; format: (value: number) => string }) {
  const all = [...regions.value.values()];
  const seconds = (point: Point) => Math.round(point.atMs / 1000);
  const times = [...new Set(all.flatMap((region) => region.history.map(seconds)))].sort((one, other) => one - other);
  const lines = all.map((region, index): Line => {
    const values = new Map(region.history.map((point) => [seconds(point), props.pick(point)]));
    return {
      label: region.source.region,
      color: COLORS[index % COLORS.length],
      values: times.map((time) => values.get(time) ?? null),
    };
  });
  return <Chart title={props.title} times={times.map((time) => time * 1000)} lines={lines} format={props.format} />;
}
