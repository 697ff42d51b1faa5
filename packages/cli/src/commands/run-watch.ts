import { setTimeout as wait } from 'node:timers/promises';
import type { Reply } from '../client/reply.js';
import { Refused, RespClient, type Target } from '../client/resp-client.js';
import { EXIT_OK } from '../terminal/exit-codes.js';
import { UsageError } from '../terminal/targets.js';

export interface WatchOptions {
  readonly json?: boolean;
  /** Milliseconds between two looks. */
  readonly interval: string;
  /** Stop after so many lines. */
  readonly count?: string;
}

interface Seen {
  readonly at: Date;
  /** Undefined where there is no such key. */
  readonly value: bigint | undefined;
  readonly expiresInMs: number | undefined;
}

const SHORTEST_INTERVAL_MS = 10;

/** A line for each change of a counter: its value, by how much, how fast. */
export async function runWatch(target: Target, key: string, options: WatchOptions): Promise<number> {
  const intervalMs = Number(options.interval);
  if (!(intervalMs >= SHORTEST_INTERVAL_MS))
    throw new UsageError(`--interval: at least ${SHORTEST_INTERVAL_MS} milliseconds`);
  const most = options.count === undefined ? Number.POSITIVE_INFINITY : Number(options.count);
  if (!(most >= 1)) throw new UsageError('--count: at least 1');
  const client = await RespClient.open(target);
  try {
    let before: Seen | undefined;
    for (let lines = 0; lines < most; ) {
      const seen = await look(client, key);
      if (before === undefined || seen.value !== before.value) {
        process.stdout.write(`${options.json ? asJson(key, seen, before) : asText(seen, before)}\n`);
        before = seen;
        lines++;
      }
      if (lines < most) await wait(intervalMs);
    }
    return EXIT_OK;
  } finally {
    client.close();
  }
}

async function look(client: RespClient, key: string): Promise<Seen> {
  const [value, expiry] = await Promise.all([client.call('GET', key), client.call('PTTL', key)]);
  const expiresInMs = Number(textOf(expiry));
  return {
    at: new Date(),
    value: value.kind === 'nil' ? undefined : BigInt(textOf(value)),
    expiresInMs: expiresInMs >= 0 ? expiresInMs : undefined,
  };
}

function textOf(reply: Reply): string {
  if (reply.kind === 'error') throw new Refused(reply.text);
  return 'text' in reply ? reply.text : '';
}

function change(seen: Seen, before: Seen | undefined): { by: bigint; perSecond: number } | undefined {
  if (seen.value === undefined || before?.value === undefined) return undefined;
  const by = seen.value - before.value;
  const seconds = Math.max((seen.at.getTime() - before.at.getTime()) / 1000, 0.001);
  return { by, perSecond: Math.round(Number(by) / seconds) };
}

function asText(seen: Seen, before: Seen | undefined): string {
  const changed = change(seen, before);
  const parts = [
    seen.at.toISOString().slice(11, 23),
    seen.value === undefined ? '(nil)' : String(seen.value),
    changed === undefined ? '' : `${changed.by > 0n ? '+' : ''}${changed.by}`,
    changed === undefined ? '' : `${changed.perSecond}/s`,
    seen.expiresInMs === undefined ? '' : `expires in ${(seen.expiresInMs / 1000).toFixed(1)} s`,
  ];
  return parts.filter((part) => part !== '').join('  ');
}

/** Values are texts: a counter may be past what a number of JSON holds exactly. */
function asJson(key: string, seen: Seen, before: Seen | undefined): string {
  const changed = change(seen, before);
  return JSON.stringify({
    at: seen.at.toISOString(),
    key,
    value: seen.value === undefined ? null : String(seen.value),
    ...(changed !== undefined && { by: String(changed.by), perSecond: changed.perSecond }),
    ...(seen.expiresInMs !== undefined && { expiresInMs: seen.expiresInMs }),
  });
}
