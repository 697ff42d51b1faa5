import { setTimeout as delay } from 'node:timers/promises';
import { residentBytes } from '../machine/resident-memory.js';
import type { Round } from '../results/measures.js';
import { ask, infoField } from '../servers/ask.js';
import type { Dataset, RunningServer } from '../servers/contenders.js';
import { fill } from '../servers/fill.js';

/** After filling, servers still finish growing their tables; memory is read once it has stopped moving. */
const SETTLE_POLL_MS = 200;
const SETTLE_POLLS = 25;
const SETTLED_WITHIN_BYTES = 64 * 1024;

/** Bytes a key costs: the growth of a fresh server while all keys are sent to it. */
export async function measureMemory(
  server: RunningServer,
  dataset: Dataset,
  keyCount: number,
  signal: AbortSignal,
): Promise<Round> {
  const before = { resident: await settledResidentBytes(server.pid), used: await usedBytes(server.port) };
  await fill(server, dataset, keyCount, signal);
  const after = { resident: await settledResidentBytes(server.pid), used: await usedBytes(server.port) };

  const round: Round = {};
  if (before.resident !== undefined && after.resident !== undefined) {
    round.residentBytesPerKey = (after.resident - before.resident) / keyCount;
    round.residentMebibytes = after.resident / 1024 ** 2;
  }
  if (before.used !== undefined && after.used !== undefined) {
    round.usedBytesPerKey = (after.used - before.used) / keyCount;
  }
  return round;
}

async function settledResidentBytes(pid: number): Promise<number | undefined> {
  let previous = residentBytes(pid);
  for (let poll = 0; poll < SETTLE_POLLS && previous !== undefined; poll++) {
    await delay(SETTLE_POLL_MS);
    const current = residentBytes(pid);
    if (current === undefined || Math.abs(current - previous) <= SETTLED_WITHIN_BYTES) return current;
    previous = current;
  }
  return previous;
}

async function usedBytes(port: number): Promise<number | undefined> {
  const field = infoField(await ask(port, 'INFO', 'memory'), 'used_memory');
  return field === undefined ? undefined : Number(field);
}
