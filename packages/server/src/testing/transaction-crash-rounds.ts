import { setTimeout as delay } from 'node:timers/promises';
import { encodeCommand, TestClient } from '@quotadb/resp/testing';
import { spawnServer } from './spawned-server.js';

interface TransactionCrashOptions {
  readonly directory: string;
  readonly rounds: number;
  /** As --fsync has it. */
  readonly fsync: string;
  readonly flags: readonly string[];
  /** In [0, 1). */
  readonly random: () => number;
}

/** A group of keys that only transactions change, all of them to the same value, after kill -9 and a start. */
interface GroupOutcome {
  readonly group: string;
  readonly found: readonly number[];
  readonly acknowledged: number;
}

const CLIENTS = 12;
/** They lie in different shards. */
const GROUP_KEYS = 4;
const PIPELINE = 8;
const SHORTEST_ROUND_MS = 40;
const LONGER_MS = 160;

/**
 * MSET and MULTI … EXEC on groups of keys from several connections, single increments and snapshots beside them, kill
 * -9 at a random moment, a start on the same directory.
 */
export async function transactionCrashRounds(options: TransactionCrashOptions): Promise<GroupOutcome[]> {
  const { directory, fsync, random } = options;
  const flags = ['--data', directory, '--fsync', fsync, '--max-memory', '32mb', ...options.flags];
  const outcomes: GroupOutcome[] = [];
  let value = 0;
  let shared = 0;
  let server = spawnServer(flags);
  try {
    let { resp } = await server.ready();
    for (let round = 0; round < options.rounds; round++) {
      const clients = await Promise.all(Array.from({ length: CLIENTS }, () => TestClient.open(resp)));
      // Larger than any that an earlier round can have left.
      value += 1_000_000;
      const acknowledged = clients.map(() => 0);
      let sharedAcknowledged = shared;
      const loads = clients.map((client, name) =>
        untilClosed(client, async () => {
          const first = value + acknowledged[name];
          client.write(Array.from({ length: PIPELINE }, (_, at) => changes(name, first + 2 * at)).join(''));
          for (let at = 0; at < PIPELINE; at++) {
            expectStart(await client.reply(), '+OK');
            acknowledged[name] += 1;
            // MULTI, and an INCR of each key of both groups.
            for (let queued = 0; queued < 1 + 2 * GROUP_KEYS; queued++) await client.reply();
            expectStart(await client.reply(), `*${2 * GROUP_KEYS}\r\n`);
            acknowledged[name] += 1;
            sharedAcknowledged++;
            await client.reply();
          }
        }),
      );
      const saver = await TestClient.open(resp);
      loads.push(untilClosed(saver, async () => void (await saver.call('BGSAVE'))));
      await delay(SHORTEST_ROUND_MS + random() * LONGER_MS);
      // On a busy machine nothing may have been acknowledged by then.
      while (sharedAcknowledged === shared) await delay(1);
      server.child.kill('SIGKILL');
      await Promise.all(loads);
      await server.finished;
      server = spawnServer(flags);
      resp = (await server.ready()).resp;
      const reader = await TestClient.open(resp);
      for (const [name, count] of acknowledged.entries()) {
        const found = await valuesOf(reader, keysOf(`${name}`));
        outcomes.push({ group: `${name}`, found, acknowledged: count === 0 ? 0 : value + count - 1 });
      }
      const found = await valuesOf(reader, keysOf('shared'));
      outcomes.push({ group: 'shared', found, acknowledged: sharedAcknowledged });
      shared = found[0];
      reader.close();
    }
    return outcomes;
  } finally {
    server.child.kill('SIGKILL');
    await server.finished;
  }
}

function keysOf(group: string): string[] {
  return Array.from({ length: GROUP_KEYS }, (_, key) => `${key}-of-${group}`);
}

/** Sets the group of a client to a value, then adds one to it and to the shared group, then counts beside it. */
function changes(name: number, value: number): string {
  const keys = keysOf(`${name}`);
  return [
    encodeCommand('MSET', ...keys.flatMap((key) => [key, `${value}`])),
    encodeCommand('MULTI'),
    ...[...keys, ...keysOf('shared')].map((key) => encodeCommand('INCR', key)),
    encodeCommand('EXEC'),
    encodeCommand('INCR', `single-${value % 1000}`),
  ].join('');
}

/** Repeats the work until the connection breaks; a reply that is not expected is a failure. */
async function untilClosed(client: TestClient, work: () => Promise<void>): Promise<void> {
  try {
    for (;;) await work();
  } catch (error) {
    client.close();
    if (error instanceof UnexpectedReply) throw error;
  }
}

class UnexpectedReply extends Error {}

async function valuesOf(client: TestClient, keys: readonly string[]): Promise<number[]> {
  const values: number[] = [];
  for (const key of keys) values.push(Number(/\r\n(\d+)\r\n/.exec(await client.call('GET', key))?.[1] ?? 0));
  return values;
}

function expectStart(reply: string, start: string): void {
  if (!reply.startsWith(start))
    throw new UnexpectedReply(`${JSON.stringify(reply)} in place of ${JSON.stringify(start)}`);
}
