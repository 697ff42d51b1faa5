import type { Request } from '@quotadb/wire';
import { errors } from '../../../errors/errors.js';
import { replyTexts, replyWords } from '../../../reply/values.js';
import { argumentIs, bytesArgument, keyword, textArgument } from '../../../request/arguments.js';
import type { Call, Command } from '../../../session/command.js';
import type { CommandDirectory, CommandEntry } from '../../../session/command-index.js';
import { container } from '../../../session/container.js';
import { defineFamily } from '../../../session/define.js';
import { Glob } from '../../keys/glob.js';
import { categoriesOf } from './categories.js';
import { describeCommand, documentCommand, keyFlagsOf } from './describe.js';
import { keyIndexes } from './keys.js';

const FILTERBY = keyword('filterby');
const MODULE = keyword('module');
const ACLCAT = keyword('aclcat');
const PATTERN = keyword('pattern');
const encoder = new TextEncoder();

const define = defineFamily({ flags: ['loading', 'stale'], group: 'server', since: '2.8.13' });

const commandCount = define({
  name: 'count',
  arity: 2,
  summary: 'How many commands there are.',
  run({ server, reply }) {
    reply.integer(server.commands.index.entries.length);
  },
});

const commandInfo = define({
  name: 'info',
  arity: -2,
  summary: 'Arity, flags and keys of commands.',
  complexity: 'O(N) where N is the number of commands',
  syntax: '[command-name [command-name ...]]',
  run(call) {
    const { request, server, reply } = call;
    if (request.argumentCount === 2) return describeAll(call);
    if (hasTooManyNames(call)) return;
    reply.array(request.argumentCount - 2);
    for (let index = 2; index < request.argumentCount; index++) {
      const entry = find(server.commands, textArgument(request, index));
      if (entry === undefined) reply.nil();
      else describeCommand(reply, entry);
    }
  },
});

const commandDocs = define({
  name: 'docs',
  arity: -2,
  summary: 'The documentation of commands.',
  since: '7.0.0',
  complexity: 'O(N) where N is the number of commands',
  syntax: '[command-name [command-name ...]]',
  run(call) {
    const { request, server, reply } = call;
    if (hasTooManyNames(call)) return;
    const entries: CommandEntry[] = [];
    if (request.argumentCount === 2) entries.push(...server.commands.index.entries);
    for (let index = 2; index < request.argumentCount; index++) {
      const entry = find(server.commands, textArgument(request, index));
      if (entry !== undefined) entries.push(entry);
    }
    reply.map(entries.length);
    for (const entry of entries) documentCommand(reply, entry);
  },
});

const commandList = define({
  name: 'list',
  arity: -2,
  summary: 'The names of all commands, or of some.',
  since: '7.0.0',
  complexity: 'O(N) where N is the number of commands',
  syntax: '[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]',
  run({ request, server, reply }) {
    if (request.argumentCount === 5 && request.argumentLength[4] > Glob.MAXIMUM_BYTES)
      return reply.error(errors.patternTooLong(request.argumentLength[4]));
    const chosen = readFilter(request);
    if (chosen === undefined) return reply.error(errors.syntax);
    const names = server.commands.index.entries.filter(chosen).map((entry) => entry.fullName);
    replyTexts(reply, names);
  },
});

function getKeys(
  name: string,
  since: string,
  write: (call: Call, indexes: number[], entry: CommandEntry) => void,
): Command {
  return define({
    name,
    arity: -3,
    summary: 'Which arguments of a command are keys.',
    since,
    complexity: 'O(N) where N is the number of arguments',
    syntax: 'command [arg [arg ...]]',
    run(call) {
      const { request, server, reply } = call;
      const indexes = keyIndexes(server.commands, request, 2);
      if (typeof indexes === 'string') reply.error(indexes);
      else write(call, indexes.indexes, indexes.entry);
    },
  });
}

const commandGetKeys = getKeys('getkeys', '2.8.13', ({ request, reply }, indexes) => {
  reply.array(indexes.length);
  for (const index of indexes) {
    reply.bulk(request.input.bytes, request.argumentStart[index], request.argumentLength[index]);
  }
});

const commandGetKeysAndFlags = getKeys('getkeysandflags', '7.0.0', ({ request, reply }, indexes, entry) => {
  reply.array(indexes.length);
  for (const index of indexes) {
    const flags = keyFlagsOf(entry);
    reply.array(2);
    reply.bulk(request.input.bytes, request.argumentStart[index], request.argumentLength[index]);
    replyWords(reply, flags);
  }
});

export const command = container({
  name: 'command',
  arity: -1,
  group: 'server',
  summary: 'The commands of this server.',
  since: '2.8.13',
  subcommands: [commandCount, commandDocs, commandGetKeys, commandGetKeysAndFlags, commandInfo, commandList],
  run: describeAll,
});

function describeAll({ server, reply }: Call): void {
  const { entries } = server.commands.index;
  reply.array(entries.length);
  for (const entry of entries) describeCommand(reply, entry);
}

/** A description is a hundred times as long as a name: a client gets as many as there are. */
function hasTooManyNames({ request, server, reply }: Call): boolean {
  const maximum = server.commands.entries.length;
  if (request.argumentCount - 2 <= maximum) return false;
  reply.error(errors.tooManyNames(maximum));
  return true;
}

/** `client|list` names a subcommand. */
function find({ index }: CommandDirectory, name: string): CommandEntry | undefined {
  const [parent, child, ...rest] = name.split('|');
  const entry = index.findText(parent ?? '');
  if (child === undefined) return entry;
  return rest.length === 0 ? entry?.subcommands?.findText(child) : undefined;
}

/** Undefined on a syntax error. There are no modules, so the filter by module matches no command. */
function readFilter(request: Request): ((entry: CommandEntry) => boolean) | undefined {
  if (request.argumentCount === 2) return () => true;
  if (request.argumentCount !== 5 || !argumentIs(request, 2, FILTERBY)) return undefined;
  if (argumentIs(request, 3, MODULE)) return () => false;
  if (argumentIs(request, 3, ACLCAT)) {
    const category = `@${textArgument(request, 4).toLowerCase()}`;
    return (entry) => categoriesOf(entry.command).includes(category);
  }
  if (argumentIs(request, 3, PATTERN)) {
    const glob = new Glob(bytesArgument(request, 4));
    return (entry) => glob.matches(encoder.encode(entry.fullName));
  }
  return undefined;
}
