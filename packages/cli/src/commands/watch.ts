import { setTimeout as wait } from 'node:timers/promises';
import { duration, integer } from '@quotadb/config';
import type { Command } from 'commander';
import { checkedText, type RespClient, withClient } from '../client/resp-client.js';
import { exactJson } from '../terminal/json-output.js';
import { parseIn } from '../terminal/parse-in.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb watch visits
  $ quotadb watch visits --interval 100ms --json | jq .perSecond`;

interface WatchOptions extends TargetOptions {
  readonly json?: boolean;
  /** The time between two readings. */
  readonly interval: string;
  /** Lines after which it stops. */
  readonly count?: string;
}

interface Reading {
  readonly at: Date;
  /** Undefined where there is no such key. */
  readonly value: bigint | undefined;
  readonly expiresInMs: number | undefined;
}

const interval = duration('milliseconds', 10, 86_400_000);
const lines = integer('lines', 1, Number.MAX_SAFE_INTEGER);

/** `quotadb watch`: a line for each change of a counter: its value, by how much, how fast. */
export function watchCommand(program: Command, exit: Exit): void {
  withTarget(program.command('watch'))
    .description('follow a counter: a line for each change')
    .argument('<key>', 'the key')
    .option('--interval <duration>', 'time between two readings; a bare number is milliseconds', '500ms')
    .option('--count <lines>', 'stop after this many lines')
    .option('--json', 'a JSON object a line')
    .addHelpText('after', EXAMPLES)
    .action((key: string, options: WatchOptions) =>
      runCommand(exit, () => {
        const intervalMs = parseIn('--interval', interval, options.interval);
        const most = options.count === undefined ? Number.POSITIVE_INFINITY : parseIn('--count', lines, options.count);
        const print = options.json ? asJson : asText;
        return withClient(targetOf(options), (client) =>
          follow(client, key, intervalMs, most, (now, before) => process.stdout.write(`${print(key, now, before)}\n`)),
        );
      }),
    );
}

async function follow(
  client: RespClient,
  key: string,
  intervalMs: number,
  most: number,
  changed: (now: Reading, before: Reading | undefined) => void,
): Promise<undefined> {
  let before: Reading | undefined;
  for (let lines = 0; lines < most; ) {
    const now = await read(client, key);
    if (before === undefined || now.value !== before.value) {
      changed(now, before);
      before = now;
      lines++;
    }
    if (lines < most) await wait(intervalMs);
  }
}

async function read(client: RespClient, key: string): Promise<Reading> {
  const [value, expiry] = await Promise.all([client.call('GET', key), client.call('PTTL', key)]);
  const expiresInMs = Number(checkedText(expiry));
  return {
    at: new Date(),
    value: value.kind === 'nil' ? undefined : BigInt(checkedText(value)),
    expiresInMs: expiresInMs >= 0 ? expiresInMs : undefined,
  };
}

function change(now: Reading, before: Reading | undefined): { by: bigint; perSecond: number } | undefined {
  if (now.value === undefined || before?.value === undefined) return undefined;
  const by = now.value - before.value;
  const seconds = Math.max((now.at.getTime() - before.at.getTime()) / 1000, 0.001);
  return { by, perSecond: Math.round(Number(by) / seconds) };
}

function asText(_key: string, now: Reading, before: Reading | undefined): string {
  const changed = change(now, before);
  const parts = [
    now.at.toISOString().slice(11, 23),
    now.value === undefined ? '(nil)' : String(now.value),
    changed === undefined ? '' : `${changed.by > 0n ? '+' : ''}${changed.by}`,
    changed === undefined ? '' : `${changed.perSecond}/s`,
    now.expiresInMs === undefined ? '' : `expires in ${(now.expiresInMs / 1000).toFixed(1)} s`,
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function asJson(key: string, now: Reading, before: Reading | undefined): string {
  const changed = change(now, before);
  return JSON.stringify({
    at: now.at.toISOString(),
    key,
    value: now.value === undefined ? null : exactJson(now.value),
    ...(changed !== undefined && { by: exactJson(changed.by), perSecond: changed.perSecond }),
    ...(now.expiresInMs !== undefined && { expiresInMs: now.expiresInMs }),
  });
}
