import type { Command } from '@quotadb/resp';
import { makeVisible, nearestOf } from '@quotadb/wire';
import type { Reply } from '../client/reply.js';
import { alignColumns } from '../terminal/table.js';
import { syntaxBehind } from './syntax.js';

const GENERAL_HELP = `INCR visits            count; Tab completes, grey text shows what may follow
help INCREX            what a command does
help client            its subcommands
help @quota            the commands of a group: @counter @quota @rate @window …
exit                   or Ctrl-D`;

/** Completions, hints and help for a line while it is typed, from the table of commands. */
export class Hints {
  private readonly commands: readonly Command[];

  constructor(commands: readonly Command[]) {
    this.commands = commands;
  }

  /** Words that the last one of this line may become. */
  complete(line: string): readonly string[] {
    const words = line.trimStart().split(/\s+/);
    if (words.length === 1) return startingWith(['help', 'exit', ...this.commands.map(({ name }) => name)], words[0]);
    const isHelp = words[0].toLowerCase() === 'help';
    const [parent, child, ...more] = isHelp ? words.slice(1) : words;
    if (more.length > 0) return [];
    const candidates = child === undefined ? this.commands : (this.find(parent)?.subcommands ?? []);
    return startingWith(
      candidates.map(({ name }) => name),
      child ?? parent,
    );
  }

  /** The arguments that are still missing: `key amount` behind INCRBY, without those typed already. */
  hint(line: string): string {
    const words = line.trimStart().split(/\s+/);
    if (words[0] === '') return '';
    const isTyping = !/\s$/.test(line);
    const [name, ...more] = isTyping ? words : words.slice(0, -1);
    const parent = this.find(name);
    const subcommand = parent?.subcommands?.find((one) => one.name === more[0]?.toLowerCase());
    const syntax = (subcommand ?? parent)?.syntax ?? '';
    const left = syntaxBehind(syntax, subcommand === undefined ? more : more.slice(1));
    return left !== '' && isTyping ? ` ${left}` : left;
  }

  /** The text of `help`, and of `help INCR`, `help client kill` and `help @quota`. */
  explain(name?: string, subcommand?: string): string {
    if (name === undefined) return GENERAL_HELP;
    if (name.startsWith('@')) return this.explainGroup(name.slice(1));
    const described = this.describe(name, subcommand);
    const suggestion = this.suggest(name);
    const missing = `there is no command ${makeVisible(name)}`;
    return described ?? (suggestion === undefined ? missing : `${missing}; ${suggestion}`);
  }

  /** For the reply that a command is unknown: which one was most likely meant. */
  suggestFor(name: string, reply: Reply): string | undefined {
    if (reply.kind !== 'error') return undefined;
    if (reply.text.startsWith('NOAUTH')) return 'log in first: AUTH user password, or --user with QUOTADB_PASSWORD';
    return reply.text.startsWith('ERR unknown command') ? this.suggest(name) : undefined;
  }

  private suggest(name: string): string | undefined {
    const names = this.commands.map((command) => command.name);
    const nearest = nearestOf(name, names);
    return nearest === undefined ? undefined : `did you mean ${nearest.toUpperCase()}?`;
  }

  private explainGroup(group: string): string {
    const groups = [...new Set(this.commands.map((command) => command.group))];
    const name = groups.find((one) => one === group.toLowerCase()) ?? nearestOf(group, groups);
    const all = groups.map((one) => `@${one}`).join(' ');
    if (name === undefined) return `there is no group @${makeVisible(group)}: ${all}`;
    const rows = this.commands
      .filter((command) => command.group === name)
      .map((command) => [`  ${command.name.toUpperCase()}`, firstSentence(command.summary)]);
    return [`@${name}`, ...alignColumns(rows)].join('\n');
  }

  private describe(name: string, subcommand?: string): string | undefined {
    const parent = this.find(name);
    if (parent === undefined) return undefined;
    const command = parent.subcommands?.find((one) => one.name === subcommand?.toLowerCase());
    if (command !== undefined) return describeCommand(`${parent.name} ${command.name}`, command);
    const own = describeCommand(parent.name, parent);
    const subcommands = (parent.subcommands ?? []).map((one) => `  ${parent.name} ${one.name} ${one.syntax}`.trimEnd());
    return [own, ...subcommands].join('\n');
  }

  private find(name: string): Command | undefined {
    const lower = name.toLowerCase();
    return this.commands.find((command) => command.name === lower);
  }
}

/** Up to a colon where that says something: `Refused: publish/subscribe is not supported` stays whole. */
function firstSentence(text: string): string {
  const [sentence] = text.split(/[.;] /);
  const [beginning] = sentence.split(': ');
  return (beginning.indexOf(' ') !== beginning.lastIndexOf(' ') ? beginning : sentence).replace(/\.$/, '');
}

function describeCommand(name: string, { syntax, summary, complexity, since }: Command): string {
  const call = `${name.toUpperCase()} ${syntax}`.trimEnd();
  return `${call}\n  ${summary}\n  ${complexity}, since ${since}`;
}

/** In the case that was typed. */
function startingWith(names: readonly string[], beginning: string): string[] {
  const isUpper = beginning !== '' && beginning === beginning.toUpperCase();
  return [...new Set(names)]
    .filter((name) => name.startsWith(beginning.toLowerCase()))
    .sort()
    .map((name) => (isUpper ? name.toUpperCase() : name));
}
