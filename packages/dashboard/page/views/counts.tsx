import type { CountsFigures } from '../../src/snapshot.js';
import { count, microseconds, milliseconds } from '../format.js';
import { Panel } from '../parts/tile.js';
import { TimeChart } from '../parts/time-chart.js';
import { growth, type Region, regions } from '../regions.js';

const STATES: Readonly<Record<CountsFigures['state'], { readonly dot: string; readonly words: string }>> = {
  unused: { dot: '', words: 'not used yet' },
  fine: { dot: 'good', words: 'takes changes' },
  trouble: { dot: 'bad', words: 'cannot be written to' },
};

/** Named counts over HTTP, and the PostgreSQL that keeps them. */
export function Counts() {
  const heard = [...regions.value.values()].filter((region) => region.snapshot !== null);
  const isUsed = heard.some((region) => region.snapshot!.counts.state !== 'unused');
  return (
    <>
      <Panel title="Counts in PostgreSQL">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Region</th>
                <th>Database</th>
                <th class="number">Changes a second</th>
                <th class="number">Mean latency</th>
                <th class="number">p99 of statements</th>
                <th class="number">Changes a statement</th>
                <th class="number">Waiting</th>
                <th class="number">Statements out</th>
                <th class="number">Failed</th>
              </tr>
            </thead>
            <tbody>
              {heard.map((region) => (
                <Row key={region.source.region} of={region} />
              ))}
            </tbody>
          </table>
        </div>
        {!isUsed && (
          <p class="note">
            Nobody has used the counts API yet. <code>POST /api/v1/counts/visits/increase</code> does; the first request
            starts the database where none is configured.
          </p>
        )}
      </Panel>
      {isUsed && (
        <Panel title="Changes a second">
          <TimeChart title="Changes of counts a second" pick={(point) => point.countsPerSecond} format={count} />
        </Panel>
      )}
    </>
  );
}

function Row(props: { of: Region }) {
  const { source, snapshot, recent } = props.of;
  const now = snapshot!.counts;
  const changes = growth(recent, (one) => one.counts.changesTotal, 1);
  const recentChanges = growth(recent, (one) => one.counts.changesTotal) ?? 0;
  const statements = growth(recent, (one) => one.counts.statementsTotal) ?? 0;
  const latencyMs = growth(recent, (one) => one.counts.latencyMsTotal) ?? 0;
  const { dot, words } = STATES[now.state];
  return (
    <tr>
      <th scope="row">{source.region}</th>
      <td>
        <span class="state">
          <span class={`dot ${dot}`} />
          {now.isEmbedded ? 'embedded, ' : ''}
          {words}
        </span>
        {now.trouble !== '' && <div class="trouble">{now.trouble}</div>}
      </td>
      <td class="number">{count(changes ?? 0)}</td>
      <td class="number">{recentChanges === 0 ? '–' : milliseconds(latencyMs / recentChanges)}</td>
      <td class="number">{microseconds(now.statementP99Microseconds)}</td>
      <td class="number">{statements === 0 ? '–' : (recentChanges / statements).toFixed(1)}</td>
      <td class="number">{count(now.waiting)}</td>
      <td class="number">{now.statementsInFlight}</td>
      <td class="number">{count(now.changesFailedTotal)}</td>
    </tr>
  );
}
