import type { Command } from '@quotadb/resp';

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
    let command = this.find(words[0]);
    let given = words.length - 1;
    const subcommand = command?.subcommands?.find(({ name }) => name === words[1]?.toLowerCase());
    if (subcommand !== undefined) {
      command = subcommand;
      given--;
    }
    if (command === undefined || command.syntax === '') return '';
    const isTyping = !/\s$/.test(line);
    if (isTyping && given === 0) return ` ${command.syntax}`;
    const parts = splitSyntax(command.syntax);
    const isRepeated = parts.at(-1)?.includes('...') ?? false;
    const rest = parts.slice(isTyping ? given : given - 1);
    const left = rest.length === 0 && isRepeated ? parts.slice(-1) : rest;
    if (left.length === 0) return '';
    return isTyping ? ` ${left.join(' ')}` : left.join(' ');
  }

  describe(name: string, subcommand?: string): string | undefined {
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

function describeCommand(name: string, { syntax, summary, complexity, since }: Command): string {
  const call = `${name.toUpperCase()} ${syntax}`.trimEnd();
  return `${call}\n  ${summary}\n  ${complexity}, since ${since}`;
}

/** `key [NX | XX] [key ...]` in parts that stand for an argument each: brackets stay whole. */
function splitSyntax(syntax: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const character of syntax) {
    if ('[<'.includes(character)) depth++;
    if (']>'.includes(character)) depth--;
    if (character === ' ' && depth === 0) {
      parts.push(part);
      part = '';
    } else {
      part += character;
    }
  }
  return part === '' ? parts : [...parts, part];
}

/** In the case that was typed. */
function startingWith(names: readonly string[], beginning: string): string[] {
  const isUpper = beginning !== '' && beginning === beginning.toUpperCase();
  return [...new Set(names)]
    .filter((name) => name.startsWith(beginning.toLowerCase()))
    .sort()
    .map((name) => (isUpper ? name.toUpperCase() : name));
}
