import { growthOfAll, knownRegions } from '../live/regions.js';
import { count, percent } from '../parts/format.js';
import { LongName } from '../parts/name.js';
import { Empty, Panel, Tile } from '../parts/panel.js';
import { RangeChoice } from '../parts/range-choice.js';
import { COUNTS } from '../parts/scale.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';

interface Hot {
  readonly identifier: string;
  allowed: number;
  denied: number;
}

const SHOWN = 20;

/** Rate limits: allowed and denied requests, and the busiest identifiers. */
export function RateLimits() {
  const allowed = growthOfAll((one) => one.rates.allowedTotal, 1);
  const denied = growthOfAll((one) => one.rates.deniedTotal, 1);
  const hottest = allHottest();
  return (
    <>
      <dl class="tiles">
        <Tile name="Allowed / s" value={count(allowed)} />
        <Tile name="Denied / s" value={count(denied)} />
        <Tile name="Share denied" value={percent(denied, allowed + denied)} />
      </dl>
      <Panel
        title="Busiest identifiers"
        caption="The last ten seconds of all regions. A busy server samples decisions: rare identifiers may be missing."
      >
        {hottest.length === 0 ? (
          <Empty title="No rate decisions in the last ten seconds">
            <code>RATE.LIMIT alice 100 60s</code> makes one.
          </Empty>
        ) : (
          <Table columns={columnsFor(hottest)} rows={hottest} keyOf={({ identifier }) => identifier} />
        )}
      </Panel>
      <div class="section">
        <h2>History</h2>
        <RangeChoice />
      </div>
      <div class="columns">
        <Panel title="Allowed, by region">
          <TimeChart title="Allowed per second" field="ratesAllowedPerSecond" unit={COUNTS} />
        </Panel>
        <Panel title="Denied, by region">
          <TimeChart title="Denied per second" field="ratesDeniedPerSecond" unit={COUNTS} />
        </Panel>
      </div>
    </>
  );
}

function columnsFor(hottest: readonly Hot[]) {
  const most = Math.max(1, ...hottest.map((hot) => hot.allowed + hot.denied));
  return [
    head('Identifier', (hot: Hot) => <LongName text={hot.identifier} />, 'mono'),
    number('Allowed / s', (hot: Hot) => count(hot.allowed)),
    number('Denied / s', (hot: Hot) => count(hot.denied)),
    text(
      'Allowed and denied',
      (hot: Hot) => (
        <div class="share" aria-hidden="true">
          <span style={`width:${(100 * hot.allowed) / most}%;background:var(--allowed)`} />
          <span style={`width:${(100 * hot.denied) / most}%;background:var(--denied)`} />
        </div>
      ),
      'wide',
    ),
  ];
}

function allHottest(): Hot[] {
  const found = new Map<string, Hot>();
  for (const { snapshot } of knownRegions())
    for (const { identifier, allowedPerSecond, deniedPerSecond } of snapshot.rates.hottest) {
      const hot = found.get(identifier) ?? { identifier, allowed: 0, denied: 0 };
      hot.allowed += allowedPerSecond;
      hot.denied += deniedPerSecond;
      found.set(identifier, hot);
    }
  return [...found.values()]
    .sort((one, other) => other.allowed + other.denied - one.allowed - one.denied)
    .slice(0, SHOWN);
}
