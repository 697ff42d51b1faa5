import { signal } from '@preact/signals';
import type { DiskFigures, Fact } from '../../src/snapshot.js';
import { getJson } from '../connection.js';
import { bytes, clock, count, microseconds, milliseconds } from '../format.js';
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
              <Facts facts={factsOf(snapshot!.persistence)} />
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
      <Configuration />
    </>
  );
}

function factsOf(disk: DiskFigures): Fact[] {
  const snapshot =
    disk.snapshotBytes === 0 ? 'none yet' : `${bytes(disk.snapshotBytes)} at ${clock(disk.snapshotAtMs)}`;
  return [
    { name: 'State', value: disk.isFailed ? 'the disk does not take what it is given' : 'fine' },
    { name: 'Synced', value: SYNCED[disk.fsync] ?? `every ${disk.fsync} ms` },
    { name: 'Flushes', value: `${count(disk.flushesTotal)}, ${count(disk.flushesLateTotal)} late` },
    { name: 'Syncs', value: count(disk.syncsTotal) },
    { name: 'Last flush', value: milliseconds(disk.lastFlushMs) },
    { name: 'p99 of syncs', value: microseconds(disk.syncP99Microseconds) },
    { name: 'Written in all', value: bytes(disk.writtenBytesTotal) },
    { name: 'Log since the last snapshot', value: bytes(disk.logBytes) },
    {
      name: 'Last snapshot',
      value: disk.isSnapshotting ? 'one is being taken' : disk.hasSnapshotFailed ? 'failed; the log goes on' : snapshot,
    },
  ];
}

const SYNCED: Readonly<Record<string, string>> = { always: 'before every reply', never: 'when the system likes' };

/** Settings, with a column for each region. */
function Configuration() {
  const all = configuration.value.filter(({ facts }) => facts.length > 0);
  if (all.length === 0) return null;
  return (
    <Panel title="Configuration">
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Setting</th>
              {all.map(({ region }) => (
                <th key={region}>{region}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all[0].facts.map(({ name }, index) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {all.map(({ region, facts }) => (
                  <td key={region} class="mono">
                    {facts[index]?.value === '' ? '–' : facts[index]?.value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
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

/** Asks every region, and those that do not answer again, as long as somebody looks. */
export async function loadConfiguration(isWanted: () => boolean): Promise<void> {
  const all = sources.value?.sources ?? [];
  configuration.value = await Promise.all(
    all.map(async ({ region, base }) => ({
      region,
      facts: await getJson<Fact[]>(`${base}/api/v1/dashboard/configuration`).catch(() => []),
    })),
  );
  if (configuration.value.some(({ facts }) => facts.length === 0))
    setTimeout(() => {
      if (isWanted()) void loadConfiguration(isWanted);
    }, RETRY_MS);
}

const RETRY_MS = 3000;
