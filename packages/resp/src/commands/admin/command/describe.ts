import type { ReplyWriter } from '@quotadb/wire';
import type { CommandEntry } from '../../../session/command-index.js';
import { categoriesOf } from './categories.js';

/** One entry of COMMAND and COMMAND INFO, as Redis 7 lays it out. */
export function describeCommand(reply: ReplyWriter, entry: CommandEntry): void {
  const { command } = entry;
  const [first, last, step] = command.keys ?? [0, 0, 0];
  reply.array(10);
  reply.bulkText(entry.fullName);
  reply.integer(command.arity);
  simpleSet(reply, command.flags);
  reply.integer(first);
  reply.integer(last);
  reply.integer(step);
  simpleSet(reply, categoriesOf(command));
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

/** Key specifications: where to start looking, and how far the keys go (a last key counted from there). */
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
  simpleSet(reply, keyFlagsOf(entry));
  reply.bulkText('begin_search');
  reply.map(2);
  reply.bulkText('type');
  reply.bulkText('index');
  reply.bulkText('spec');
  reply.map(1);
  reply.bulkText('index');
  reply.integer(first);
  reply.bulkText('find_keys');
  reply.map(2);
  reply.bulkText('type');
  reply.bulkText('range');
  reply.bulkText('spec');
  reply.map(3);
  reply.bulkText('lastkey');
  reply.integer(last < 0 ? last : last - first);
  reply.bulkText('keystep');
  reply.integer(step);
  reply.bulkText('limit');
  reply.integer(0);
}

/** One entry of COMMAND DOCS: the name and a map. */
export function documentCommand(reply: ReplyWriter, entry: CommandEntry): void {
  const { command } = entry;
  const subcommands = entry.subcommands?.entries ?? [];
  reply.bulkText(entry.fullName);
  reply.map(subcommands.length > 0 ? 5 : 4);
  reply.bulkText('summary');
  reply.bulkText(command.summary);
  reply.bulkText('since');
  reply.bulkText(command.since);
  reply.bulkText('group');
  reply.bulkText(command.group);
  reply.bulkText('complexity');
  reply.bulkText(command.complexity);
  if (subcommands.length === 0) return;
  reply.bulkText('subcommands');
  reply.map(subcommands.length);
  for (const subcommand of subcommands) documentCommand(reply, subcommand);
}

function simpleSet(reply: ReplyWriter, words: readonly string[]): void {
  reply.set(words.length);
  for (const word of words) reply.simple(word);
}
