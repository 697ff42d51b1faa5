import { signal } from '@preact/signals';
import type { Fact } from '../../src/snapshot.js';
import { getJson } from '../connection.js';
import { clock, microseconds } from '../format.js';
import { Panel } from '../parts/tile.js';
import { regions, sources } from '../regions.js';

const configuration = signal<readonly { region: string; facts: readonly Fact[] }[]>([]);

/** Persistence, slow commands and configuration, region by region. */
export function ServerView() {
  const heard = [...regions.value.values()].filter((region) => region.snapshot !== null);
  return (
    <>
      <div class="columns">
        {heard.map(({ source, snapshot }) => (
          <Panel key={source.region} title={`Disk of ${source.region}`}>
            {snapshot!.persistence === null ? (
              <p class="note">Everything is in memory. Start with --data DIR to keep it.</p>
            ) : (
              <Facts facts={snapshot!.persistence} />
            )}
          </Panel>
        ))}
      </div>
      <Panel title="Slow commands">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Region</th>
                <th>When</th>
                <th class="number">Took</th>
                <th>Command</th>
                <th>Client</th>
              </tr>
            </thead>
            <tbody>
              {heard.flatMap(({ source, snapshot }) =>
                snapshot!.slowCommands.map((slow) => (
                  <tr key={`${source.region} ${slow.id}`}>
                    <td>{source.region}</td>
                    <td>{clock(slow.atMs)}</td>
                    <td class="number">{microseconds(slow.microseconds)}</td>
                    <td>
                      <code>{slow.command}</code>
                    </td>
                    <td class="mono">{slow.client}</td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </div>
        {heard.every(({ snapshot }) => snapshot!.slowCommands.length === 0) && <p class="note">None so far.</p>}
      </Panel>
      {configuration.value.map(({ region, facts }) => (
        <Panel key={region} title={`Configuration of ${region}`}>
          <Facts facts={facts} />
        </Panel>
      ))}
    </>
  );
}

function Facts(props: { facts: readonly Fact[] }) {
  return (
    <div class="scroll">
      <table>
        <tbody>
          {props.facts.map(({ name, value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="mono">{value === '' ? '–' : value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export async function loadConfiguration(): Promise<void> {
  const all = sources.value?.sources ?? [];
  configuration.value = await Promise.all(
    all.map(async ({ region, base }) => ({
      region,
      facts: await getJson<Fact[]>(`${base}/api/v1/dashboard/configuration`).catch(() => []),
    })),
  );
}
