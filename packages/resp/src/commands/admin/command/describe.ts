import type { ReplyWriter } from '@quotadb/wire';
import { replyField, replyMap, replyWords } from '../../../reply/values.js';
import type { CommandEntry } from '../../../session/command-index.js';
import { categoriesOf } from './categories.js';
import { type CommandArgument, parseSyntax } from './syntax.js';

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
  const { flags, keyCountAt } = entry.command;
  const isWrite = flags.includes('write') || (keyCountAt !== undefined && !flags.includes('readonly'));
  return isWrite ? ['RW', 'access', 'update'] : ['RO', 'access'];
}

/** Key specifications: the first key, and how far the keys go (the last key counted from the first). */
function describeKeys(reply: ReplyWriter, entry: CommandEntry): void {
  const { keys, keyCountAt } = entry.command;
  if (keys === undefined && keyCountAt === undefined) {
    reply.set(0);
    return;
  }
  reply.set(1);
  reply.map(3);
  reply.bulkText('flags');
  replyWords(reply, keyFlagsOf(entry));
  reply.bulkText('begin_search');
  reply.map(2);
  replyField(reply, 'type', 'index');
  reply.bulkText('spec');
  replyMap(reply, [['index', keyCountAt ?? entry.firstKey]]);
  reply.bulkText('find_keys');
  reply.map(2);
  replyField(reply, 'type', keys === undefined ? 'keynum' : 'range');
  reply.bulkText('spec');
  replyMap(reply, keys === undefined ? behindCount(entry) : rangeOf(keys));
}

function rangeOf([first, last, step]: readonly [number, number, number]): (readonly [string, number])[] {
  return [
    ['lastkey', last < 0 ? last : last - first],
    ['keystep', step],
    ['limit', 0],
  ];
}

function behindCount({ firstKey, keyCountAt, keyStep }: CommandEntry): (readonly [string, number])[] {
  return [
    ['keynumidx', 0],
    ['firstkey', firstKey - keyCountAt],
    ['keystep', keyStep],
  ];
}

/** One entry of COMMAND DOCS: the name and a map. */
export function documentCommand(reply: ReplyWriter, entry: CommandEntry): void {
  const { command } = entry;
  const subcommands = entry.subcommands?.entries ?? [];
  reply.bulkText(entry.fullName);
  const parts = parseSyntax(command.syntax);
  reply.map(4 + (parts.length > 0 ? 1 : 0) + (subcommands.length > 0 ? 1 : 0));
  for (const field of ['summary', 'since', 'group', 'complexity'] as const) replyField(reply, field, command[field]);
  if (parts.length > 0) {
    reply.bulkText('arguments');
    documentArguments(reply, parts);
  }
  if (subcommands.length === 0) return;
  reply.bulkText('subcommands');
  reply.map(subcommands.length);
  for (const subcommand of subcommands) documentCommand(reply, subcommand);
}

/** As Redis 7 lays them out. */
function documentArguments(reply: ReplyWriter, parts: readonly CommandArgument[]): void {
  reply.array(parts.length);
  for (const { name, type, token, isOptional, isMultiple, isTokenRepeated, arguments: inner } of parts) {
    const flags = [isOptional && 'optional', isMultiple && 'multiple', isTokenRepeated && 'multiple_token'].filter(
      (flag) => typeof flag === 'string',
    );
    const isKey = type === 'key';
    reply.map([true, true, isKey, token, flags.length > 0, inner].filter(Boolean).length);
    replyField(reply, 'name', name);
    replyField(reply, 'type', type);
    if (isKey) replyField(reply, 'key_spec_index', 0);
    if (token !== undefined) replyField(reply, 'token', token);
    if (flags.length > 0) {
      reply.bulkText('flags');
      replyWords(reply, flags);
    }
    if (inner === undefined) continue;
    reply.bulkText('arguments');
    documentArguments(reply, inner);
  }
}
