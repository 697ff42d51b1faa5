import { DURATION_BUCKETS } from '@quotadb/engine';
import type { ReplyWriter } from '@quotadb/wire';
import { askLanes } from '../../questions/ask-lanes.js';
import { replyField } from '../../reply/values.js';
import { textArguments } from '../../request/arguments.js';
import type { CommandDirectory, CommandEntry } from '../../session/command-index.js';
import { defineCommand } from '../../session/define.js';
import { addFigures } from '../../statistics/figures.js';

export const latencyHistogram = defineCommand({
  name: 'histogram',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary:
    'For each command: the calls that were timed, and how many of them took up to 1, 2, 4 … microseconds. Of short ' +
    'turns one in sixteen is timed.',
  since: '7.0.0',
  complexity: 'O(N) where N is the number of commands',
  syntax: '[command [command ...]]',
  run(call) {
    const names = textArguments(call.request, 2);
    askLanes(call, 'figures', null, ({ reply, server }, lanes) => {
      const { durations } = addFigures(lanes);
      const shown = chosen(server.commands, names).filter(({ id }) => timed(durations, id) > 0);
      reply.map(shown.length);
      for (const entry of shown) writeHistogram(reply, entry, durations);
    });
  },
});

/** A command that has subcommands stands for them; unknown names for nothing. */
function chosen({ index, entries }: CommandDirectory, names: readonly string[]): readonly CommandEntry[] {
  if (names.length === 0) return entries;
  const wanted = new Set(
    names.flatMap((name) => {
      const [parent, child] = name.split('|');
      const entry = index.findText(parent);
      if (child !== undefined) return entry?.subcommands?.findText(child) ?? [];
      return entry === undefined ? [] : [entry, ...(entry.subcommands?.entries ?? [])];
    }),
  );
  return entries.filter((entry) => wanted.has(entry));
}

function bucketsOf(durations: Float64Array, id: number): Float64Array {
  return durations.subarray(id * DURATION_BUCKETS, (id + 1) * DURATION_BUCKETS);
}

function timed(durations: Float64Array, id: number): number {
  return bucketsOf(durations, id).reduce((sum, count) => sum + count, 0);
}

/** As Redis: the count of each bucket includes those below it, and buckets that add nothing are left out. */
function writeHistogram(reply: ReplyWriter, { fullName, id }: CommandEntry, durations: Float64Array): void {
  const cumulative: number[] = [];
  let total = 0;
  for (const [bucket, count] of bucketsOf(durations, id).entries()) {
    total += count;
    if (count > 0) cumulative.push(2 ** bucket, total);
  }
  reply.bulkText(fullName);
  reply.map(2);
  replyField(reply, 'calls', total);
  reply.bulkText('histogram_usec');
  reply.map(cumulative.length / 2);
  for (const number of cumulative) reply.integer(number);
}
