import { growthOfAll, knownRegions, type Region, total } from '../live/regions.js';
import { bytes, count, duration, microseconds, milliseconds } from '../parts/format.js';
import { Panel, Tile } from '../parts/panel.js';
import { RegionMap } from '../parts/region-map.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';

type KnownRegion = ReturnType<typeof knownRegions>[number];

const CHARTS: readonly Parameters<typeof TimeChart>[0][] = [
  { title: 'Commands per second', pick: (point) => point.commandsPerSecond, format: count },
  { title: 'p99 in the server', pick: (point) => point.p99Microseconds, format: microseconds },
  { title: 'Lag of the slowest peer', pick: (point) => point.lagMs, format: milliseconds },
  { title: 'Memory', pick: (point) => point.usedBytes, format: bytes },
];

export function Overview() {
  const known = knownRegions();
  if (known.length === 0) return <p class="note">Waiting for the first figures …</p>;
  const worst = (pick: (region: KnownRegion) => number | null) =>
    known.reduce<number | null>((most, region) => {
      const value = pick(region);
      return value === null ? most : Math.max(most ?? 0, value);
    }, null);
  const lag = worst((region: Region) => region.history.at(-1)?.lagMs ?? null);
  return (
    <>
      <dl class="tiles">
        <Tile
          name="Commands per second"
          value={count(total(known, ({ snapshot }) => snapshot.traffic.commandsPerSecond))}
        />
        <Tile
          name="p99 in the server"
          value={microseconds(worst(({ snapshot }) => snapshot.traffic.p99Microseconds))}
        />
        <Tile name="Keys" value={count(worst(({ snapshot }) => snapshot.memory.keys) ?? 0)} />
        <Tile
          name="Memory"
          value={bytes(total(known, ({ snapshot }) => snapshot.memory.usedBytes))}
          more={`of ${bytes(total(known, ({ snapshot }) => snapshot.memory.maximumBytes))}`}
        />
        <Tile name="Connections" value={count(total(known, ({ snapshot }) => snapshot.traffic.connections))} />
        <Tile name="Greatest lag" value={lag === null ? '–' : milliseconds(lag)} />
        {known.some(({ snapshot }) => snapshot.quotas.length > 0) && (
          <Tile
            name="Quota takes per second"
            value={count(growthOfAll((one) => total(one.quotas, (quota) => quota.allowedTotal), 1))}
            more={`${count(growthOfAll((one) => total(one.quotas, (quota) => quota.deniedTotal), 1))} denied`}
          />
        )}
        {known.some(({ snapshot }) => snapshot.rates.allowedTotal + snapshot.rates.deniedTotal > 0) && (
          <Tile
            name="Rate decisions per second"
            value={count(growthOfAll((one) => one.rates.allowedTotal, 1))}
            more={`${count(growthOfAll((one) => one.rates.deniedTotal, 1))} denied`}
          />
        )}
      </dl>
      <RegionMap />
      <div class="columns">
        {CHARTS.map((chart) => (
          <Panel key={chart.title} title={chart.title}>
            <TimeChart {...chart} />
          </Panel>
        ))}
      </div>
      <Panel title="Servers">
        <Table columns={SERVER_COLUMNS} rows={known} keyOf={({ snapshot }) => snapshot.server.region} />
      </Panel>
    </>
  );
}

const SERVER_COLUMNS = [
  head('Region', ({ snapshot }: KnownRegion) => snapshot.server.region),
  text('Up', ({ snapshot }: KnownRegion) => duration(snapshot.server.uptimeSeconds)),
  text('Version', ({ snapshot }: KnownRegion) => snapshot.server.version),
  text('Transport', ({ snapshot }: KnownRegion) => snapshot.server.transport),
  number('Lanes', ({ snapshot }: KnownRegion) => snapshot.server.lanes),
  number('Longest pause', ({ snapshot }: KnownRegion) => microseconds(snapshot.traffic.longestTurnMicroseconds)),
  number('Process', ({ snapshot }: KnownRegion) => snapshot.server.processId),
];
