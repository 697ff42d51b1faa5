import { bytes, count, duration, microseconds, milliseconds } from '../format.js';
import { RegionMap } from '../parts/region-map.js';
import { Panel, Tile } from '../parts/tile.js';
import { TimeChart } from '../parts/time-chart.js';
import { growthOfAll, type Region, regions, total } from '../regions.js';

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
        {heard.some((region) => region.snapshot!.quotas.length > 0) && (
          <Tile
            name="Quota takes a second"
            value={count(growthOfAll((one) => total(one.quotas, (quota) => quota.allowedTotal), 1))}
            more={`${count(growthOfAll((one) => total(one.quotas, (quota) => quota.deniedTotal), 1))} denied`}
          />
        )}
        {heard.some(({ snapshot }) => snapshot!.rates.allowedTotal + snapshot!.rates.deniedTotal > 0) && (
          <Tile
            name="Rate decisions a second"
            value={count(growthOfAll((one) => one.rates.allowedTotal, 1))}
            more={`${count(growthOfAll((one) => one.rates.deniedTotal, 1))} denied`}
          />
        )}
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
