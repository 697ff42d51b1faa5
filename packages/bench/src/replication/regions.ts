import { setTimeout as delay } from 'node:timers/promises';
import type { BenchRun } from '../command-line/suite.js';
import { ask, infoField } from '../servers/ask.js';
import { type QuotaDBProcess, startQuotaDB } from '../servers/quotadb.js';

export const POLL_MS = 20;

type Run = Pick<BenchRun<unknown>, 'cleanup' | 'signal'>;

/** Starts the only server of a region. It has no peers yet. */
export function startRegion(
  program: string,
  region: string,
  { cleanup, signal }: Run,
  flags: readonly string[] = [],
): Promise<QuotaDBProcess> {
  signal.throwIfAborted();
  const common = ['--repl', '0', '--memory', '--region', region, '--log-level', 'error'];
  return startQuotaDB({ program, name: region, flags: [...common, ...flags] }, cleanup);
}

export type ThreeRegions = readonly [QuotaDBProcess, QuotaDBProcess, QuotaDBProcess];

/** Three regions, each connected with the two others. */
export async function startThreeRegions(program: string, run: Run): Promise<ThreeRegions> {
  const regions: QuotaDBProcess[] = [];
  for (const name of ['us', 'eu', 'ap']) regions.push(await startRegion(program, name, run));
  for (const region of regions) {
    for (const other of regions) if (other !== region) await addPeer(region, other.name, other.replicationPort);
  }
  for (const { port } of regions) {
    while (infoField(await ask(port, 'INFO', 'replication'), 'connected_slaves') !== '2') await delay(POLL_MS);
  }
  return regions as unknown as ThreeRegions;
}

export async function addPeer(region: QuotaDBProcess, peer: string, port: number): Promise<void> {
  await ask(region.port, 'REPL.PEERS', 'ADD', peer, `127.0.0.1:${port}`);
}

export async function stopRegions(regions: readonly QuotaDBProcess[]): Promise<void> {
  await Promise.all(regions.map((region) => region.stop()));
}

/** The bytes and components that a region has sent to another, and the components it has from there. */
export async function exchanged(from: QuotaDBProcess, to: QuotaDBProcess) {
  const line = infoField(await ask(from.port, 'INFO', 'replication'), `quotadb_peer_${to.name}`) ?? '';
  const field = (name: string) => Number(new RegExp(`(?:^|,)${name}=(\\d+)`).exec(line)?.[1] ?? 0);
  return { bytes: field('bytes_out'), components: field('components_out'), componentsIn: field('components_in') };
}
