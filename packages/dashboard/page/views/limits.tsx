import { growthOfAll, regions } from '../live/regions.js';
import { count } from '../parts/format.js';
import { Panel, Tile } from '../parts/panel.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';

interface Hot {
  readonly identifier: string;
  allowed: number;
  denied: number;
}

const SHOWN = 20;

/** Rate limits: allowed and denied requests, and the busiest identifiers. */
export function Limits() {
  const allowed = growthOfAll((one) => one.rates.allowedTotal, 1);
  const denied = growthOfAll((one) => one.rates.deniedTotal, 1);
  const hottest = allHottest();
  const most = Math.max(1, ...hottest.map((hot) => hot.allowed + hot.denied));
  const columns = [
    head('Identifier', (hot: Hot) => hot.identifier, 'mono'),
    number('Allowed per second', (hot: Hot) => hot.allowed.toFixed(1)),
    number('Denied per second', (hot: Hot) => hot.denied.toFixed(1)),
    text(
      'Share',
      (hot: Hot) => (
        <div class="share" aria-hidden="true">
          <span style={`width:${(100 * hot.allowed) / most}%;background:var(--good)`} />
          <span style={`width:${(100 * hot.denied) / most}%;background:var(--bad)`} />
        </div>
      ),
      'wide',
    ),
  ];
  return (
    <>
      <dl class="tiles">
        <Tile name="Allowed per second" value={count(allowed)} />
        <Tile name="Denied per second" value={count(denied)} />
        <Tile
          name="Denied"
          value={allowed + denied === 0 ? '–' : `${((100 * denied) / (allowed + denied)).toFixed(1)} %`}
        />
      </dl>
      <Panel title="Busiest identifiers">
        {hottest.length === 0 ? (
          <p class="note">
            No rate decisions in the last ten seconds. <code>RATE.LIMIT key limit window-ms</code> makes one.
          </p>
        ) : (
          <Table columns={columns} rows={hottest} keyOf={({ identifier }) => identifier} />
        )}
        <p class="note">
          The last ten seconds of all regions. A busy server samples its decisions, so rare identifiers may be missing.
        </p>
      </Panel>
      <Panel title="Denied per second">
        <TimeChart title="Denied per second" pick={(point) => point.ratesDeniedPerSecond} format={count} />
      </Panel>
    </>
  );
}

function allHottest(): Hot[] {
  const found = new Map<string, Hot>();
  for (const { snapshot, isConnected } of regions.value.values()) {
    if (!isConnected) continue;
    for (const { identifier, allowedPerSecond, deniedPerSecond } of snapshot?.rates.hottest ?? []) {
      const hot = found.get(identifier) ?? { identifier, allowed: 0, denied: 0 };
      hot.allowed += allowedPerSecond;
      hot.denied += deniedPerSecond;
      found.set(identifier, hot);
    }
  }
  return [...found.values()]
    .sort((one, other) => other.allowed + other.denied - one.allowed - one.denied)
    .slice(0, SHOWN);
}
