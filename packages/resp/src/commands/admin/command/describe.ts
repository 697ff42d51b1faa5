import type { ReplyWriter } from '@quotadb/wire';
import { replyField, replyMap, replyWords } from '../../../reply/values.js';
import type { CommandEntry } from '../../../session/command-index.js';
import { categoriesOf } from './categories.js';

/** One entry of COMMAND and COMMAND INFO, as Redis 7 lays it out. */
export function describeCommand(reply: ReplyWriter, entry: CommandEntry): void {
  const { command } = entry;
  const [first, last, step] = command.keys ?? [0, 0, 0];
  reply.array(10);
  reply.bulkText(entry.fullName);
  reply.integer(command.arity);
  replyWords(reply, command.flags);
  reply.integer(first);
  reply.integer(last);
  reply.integer(step);
  replyWords(reply, categoriesOf(command));
  // Tips for cluster clients: none.
  reply.set(0);
  describeKeys(reply, entry);
  const subcommands = entry.subcommands?.entries ?? [];
  reply.set(subcommands.length);
  for (const subcommand of subcommands) describeCommand(reply, subcommand);
}

/** The flags Redis gives the keys of a command, judged by whether it writes. */
export function keyFlagsOf(entry: CommandEntry): readonly string[] {
  return entry.command.flags.includes('write') ? ['RW', 'access', 'update'] : ['RO', 'access'];
}

/** Key specifications: the first key, and how far the keys go (the last key counted from the first). */
function describeKeys(reply: ReplyWriter, entry: CommandEntry): void {
  const { keys } = entry.command;
  if (keys === undefined) {
    reply.set(0);
    return;
  }
  const [first, last, step] = keys;
  reply.set(1);
  reply.map(3);
  reply.bulkText('flags');
  replyWords(reply, keyFlagsOf(entry));
  reply.bulkText('begin_search');
  reply.map(2);
  replyField(reply, 'type', 'index');
  reply.bulkText('spec');
  replyMap(reply, [['index', first]]);
  reply.bulkText('find_keys');
  reply.map(2);
  replyField(reply, 'type', 'range');
  reply.bulkText('spec');
  replyMap(reply, [
    ['lastkey', last < 0 ? last : last - first],
    ['keystep', step],
    ['limit', 0],
  ]);
}

/** One entry of COMMAND DOCS: the name and a map. */
export function documentCommand(reply: ReplyWriter, entry: CommandEntry): void {
  const { command } = entry;
  const subcommands = entry.subcommands?.entries ?? [];
  reply.bulkText(entry.fullName);
  reply.map(subcommands.length > 0 ? 5 : 4);
  for (const field of ['summary', 'since', 'group', 'complexity'] as const) replyField(reply, field, command[field]);
  if (subcommands.length === 0) return;
  reply.bulkText('subcommands');
  reply.map(subcommands.length);
  for (const subcommand of subcommands) documentCommand(reply, subcommand);
}
