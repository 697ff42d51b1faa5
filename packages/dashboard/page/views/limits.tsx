import { count } from '../format.js';
import { Panel, Tile } from '../parts/tile.js';
import { TimeChart } from '../parts/time-chart.js';
import { growthOfAll, regions } from '../regions.js';

interface Hot {
  readonly identifier: string;
  allowed: number;
  denied: number;
}

const SHOWN = 20;

/** Rate limits: how many requests pass, and whose they are. */
export function Limits() {
  const allowed = growthOfAll((one) => one.rates.allowedTotal, 1);
  const denied = growthOfAll((one) => one.rates.deniedTotal, 1);
  const hottest = allHottest();
  const most = Math.max(1, ...hottest.map((hot) => hot.allowed + hot.denied));
  return (
    <>
      <dl class="tiles">
        <Tile name="Allowed a second" value={count(allowed)} />
        <Tile name="Denied a second" value={count(denied)} />
        <Tile
          name="Denied"
          value={allowed + denied === 0 ? '–' : `${((100 * denied) / (allowed + denied)).toFixed(1)} %`}
        />
      </dl>
      <Panel title="Hottest identifiers">
        {hottest.length === 0 ? (
          <p class="note">
            No request was decided in the last seconds. <code>RATE.LIMIT key limit window-ms</code> decides one.
          </p>
        ) : (
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th>Identifier</th>
                  <th class="number">Allowed a second</th>
                  <th class="number">Denied a second</th>
                  <th class="wide">Share</th>
                </tr>
              </thead>
              <tbody>
                {hottest.map((hot) => (
                  <tr key={hot.identifier}>
                    <th scope="row" class="mono">
                      {hot.identifier}
                    </th>
                    <td class="number">{hot.allowed.toFixed(1)}</td>
                    <td class="number">{hot.denied.toFixed(1)}</td>
                    <td>
                      <div class="share" aria-hidden="true">
                        <span style={`width:${(100 * hot.allowed) / most}%;background:var(--good)`} />
                        <span style={`width:${(100 * hot.denied) / most}%;background:var(--bad)`} />
                      </div>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <p class="note">
          Of the last ten seconds and all regions. A busy server looks at a sample of its decisions, so rare identifiers
          may be missing.
        </p>
      </Panel>
      <Panel title="Denied a second">
        <TimeChart title="Denied a second" pick={(point) => point.ratesDeniedPerSecond} format={count} />
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
