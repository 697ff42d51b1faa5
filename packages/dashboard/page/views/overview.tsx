import { allLinks, deadRegions, lostLinks, stateOfRegion } from '../live/links.js';
import { greatestLag, growthOfAll, type KnownRegion, knownRegions, regions, total } from '../live/regions.js';
import { ClusterPanel } from '../parts/cluster-panel.js';
import { bytes, count, duration, microseconds, milliseconds } from '../parts/format.js';
import { Loading, Panel, State, Tile } from '../parts/panel.js';
import { RangeChoice } from '../parts/range-choice.js';
import { RegionMap } from '../parts/region-map.js';
import { BYTES, COUNTS, MICROSECONDS, MILLISECONDS } from '../parts/scale.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';
import { DemoQuota } from './demo.js';

const CHARTS: readonly Parameters<typeof TimeChart>[0][] = [
  { title: 'Commands per second', field: 'commandsPerSecond', unit: COUNTS },
  { title: 'p99 in the server', field: 'p99Microseconds', unit: MICROSECONDS },
  { title: 'Lag of the slowest peer', field: 'lagMs', unit: MILLISECONDS },
  { title: 'Memory', field: 'usedBytes', unit: BYTES },
];

/** A lag from which on a person should look. */
const NOTABLE_LAG_MS = 1000;

export function Overview() {
  const known = knownRegions();
  if (known.length === 0 && [...regions.value.values()].every(({ state }) => state === 'unknown'))
    return <Loading what="the first figures" />;
  const hasPeers = allLinks().length > 0;
  return (
    <>
      <Tiles known={known} />
      <RegionMap />
      <DemoQuota />
      {known.flatMap(({ source, snapshot: { cluster } }) =>
        cluster === null ? [] : <ClusterPanel key={source.region} of={cluster} seenBy={source.region} />,
      )}
      <div class="section">
        <h2>History</h2>
        <RangeChoice />
      </div>
      <div class="columns">
        {CHARTS.filter(({ field }) => field !== 'lagMs' || hasPeers).map((chart) => (
          <Panel key={chart.title} title={chart.title}>
            <TimeChart {...chart} />
          </Panel>
        ))}
      </div>
      <Panel title="Servers" caption="Regions that the page gets figures from.">
        <Table columns={SERVER_COLUMNS} rows={[...regions.value.keys()]} keyOf={(name) => name} />
      </Panel>
    </>
  );
}

function Tiles(props: { known: readonly KnownRegion[] }) {
  const { known } = props;
  const worst = (pick: (region: KnownRegion) => number | null) =>
    known.reduce<number | null>((most, region) => {
      const value = pick(region);
      return value === null ? most : Math.max(most ?? 0, value);
    }, null);
  const lag = worst(({ snapshot }) => greatestLag(snapshot));
  const dead = deadRegions();
  const hasQuotas = known.some(({ snapshot }) => snapshot.quotas.length > 0);
  const hasRates = known.some(({ snapshot }) => snapshot.rates.allowedTotal + snapshot.rates.deniedTotal > 0);
  const denied = (pick: Parameters<typeof growthOfAll>[0]) => `${count(growthOfAll(pick, 1))} denied`;
  return (
    <dl class="tiles">
      <Tile
        name="Commands / s"
        value={count(total(known, ({ snapshot }) => snapshot.traffic.commandsPerSecond))}
        more={`${count(total(known, ({ snapshot }) => snapshot.traffic.connections))} connections`}
      />
      <Tile name="p99 in the server" value={microseconds(worst(({ snapshot }) => snapshot.traffic.p99Microseconds))} />
      <Tile name="Keys" value={count(worst(({ snapshot }) => snapshot.memory.keys) ?? 0)} />
      <Tile
        name="Memory"
        value={bytes(total(known, ({ snapshot }) => snapshot.memory.usedBytes))}
        more={`of ${bytes(total(known, ({ snapshot }) => snapshot.memory.maximumBytes))}`}
      />
      {(lag !== null || dead.length > 0) && (
        <Tile
          name="Greatest lag"
          value={lag === null ? 'not known' : milliseconds(lag)}
          state={dead.length > 0 ? 'bad' : lag !== null && lag > NOTABLE_LAG_MS ? 'warn' : undefined}
          more={reasonFor(dead)}
        />
      )}
      {hasQuotas && (
        <Tile
          name="Quota takes / s"
          value={count(growthOfAll((one) => total(one.quotas, (quota) => quota.allowedTotal), 1))}
          more={denied((one) => total(one.quotas, (quota) => quota.deniedTotal))}
        />
      )}
      {hasRates && (
        <Tile
          name="Rate decisions / s"
          value={count(growthOfAll((one) => one.rates.allowedTotal, 1))}
          more={denied((one) => one.rates.deniedTotal)}
        />
      )}
    </dl>
  );
}

function reasonFor(dead: readonly string[]): string {
  if (dead.length > 0) return `${dead.join(', ')} down`;
  const lost = lostLinks();
  return lost.length > 0 ? `no link ${lost.join(', ')}` : 'all regions up';
}

const snapshotOf = (name: string) => knownRegions().find(({ source }) => source.region === name)?.snapshot;

const SERVER_COLUMNS = [
  head('Region', (name: string) => {
    const { dot, words } = stateOfRegion(name, allLinks());
    return <State dot={dot}>{dot === 'good' ? name : `${name} ${words}`}</State>;
  }),
  text('Up for', (name: string) => figure(name, ({ server }) => duration(server.uptimeSeconds))),
  text('Version', (name: string) => figure(name, ({ server }) => server.version)),
  text('Transport', (name: string) => figure(name, ({ server }) => server.transport)),
  number('Lanes', (name: string) => figure(name, ({ server }) => count(server.lanes))),
  number('Keys', (name: string) => figure(name, ({ memory }) => count(memory.keys))),
  number('Longest pause', (name: string) =>
    figure(name, ({ traffic }) => microseconds(traffic.longestTurnMicroseconds)),
  ),
  number('Process', (name: string) => figure(name, ({ server }) => String(server.processId))),
];

function figure(name: string, pick: (snapshot: KnownRegion['snapshot']) => string): string {
  const snapshot = snapshotOf(name);
  return snapshot === undefined ? '–' : pick(snapshot);
}
