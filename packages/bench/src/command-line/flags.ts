import { parseArgs } from 'node:util';

/** Mistakes in the command line, one a line. */
export class UsageError extends Error {}

type Report = (mistake: string) => void;

export interface Flag<Value> {
  /** Absent for a switch, which takes no value. */
  readonly placeholder?: string;
  readonly help: string;
  readonly default: string;
  /** The default of a smoke run. */
  readonly smoke: string;
  /** Reports a mistake in the text; its value is not used then. */
  readonly parse: (given: string, report: Report) => Value;
}

/** The command line of a suite, and its help. Names are those of options: `joinKeys` is the flag `--join-keys`. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

export type Options<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer Value> ? Value : never;
};

export function text(placeholder: string, help: string): Flag<string> {
  return { placeholder, help, default: '', smoke: '', parse: (given) => given };
}

export function toggle(help: string): Flag<boolean> {
  return { help, default: '', smoke: '', parse: (given) => given === 'true' };
}

type Range = readonly [minimum: number, maximum: number];

const number = (placeholder: string, isWhole: boolean) => {
  return (help: string, range: Range, usual: string, smoke = usual): Flag<number> => {
    const parse = (given: string, report: Report) => parseNumber(given, range, isWhole, report);
    return { placeholder, help, default: usual, smoke, parse };
  };
};

export const integer = number('N', true);
export const seconds = number('S', false);

export function integers(help: string, range: Range, usual: string, smoke = usual): Flag<number[]> {
  const parse = (given: string, report: Report) =>
    splitList(given, usual, report).map((item) => parseNumber(item, range, true, report));
  return { placeholder: 'N,…', help, default: usual, smoke, parse };
}

/** Any of `choices`; `groups` are words that stand for several of them, or for none. */
export function names<Name extends string>(
  help: string,
  choices: readonly Name[],
  usual: string,
  groups: Readonly<Record<string, readonly Name[]>> = {},
): Flag<readonly Name[]> {
  const parse = (given: string, report: Report) => {
    if (Object.hasOwn(groups, given)) return groups[given]!;
    const items = splitList(given, usual, report) as Name[];
    for (const item of items) {
      if (!choices.includes(item)) report(`there is no "${item}"; there is ${choices.join(', ')}`);
    }
    return items;
  };
  return { placeholder: 'NAME,…', help, default: usual, smoke: usual, parse };
}

/** The same flag with defaults of another suite. */
export function withDefault<Value>(flag: Flag<Value>, usual: string, smoke = usual): Flag<Value> {
  return { ...flag, default: usual, smoke };
}

/** One of `choices`, or an empty text where that is the default. */
export function choice<Name extends string>(help: string, choices: readonly Name[], usual = ''): Flag<Name | ''> {
  const parse = (given: string, report: Report) => {
    if (given !== usual && !choices.includes(given as Name)) report(`must be ${choices.join(' or ')}`);
    return given as Name;
  };
  return { placeholder: 'NAME', help, default: usual, smoke: usual, parse };
}

/** The values given and the defaults of the others. All mistakes are reported at once. */
export function parseFlags<Table extends FlagTable>(table: Table, argv: readonly string[]): Options<Table> {
  const given = readArguments(table, argv);
  const mistakes: string[] = [];
  const values = Object.entries(table).map(([option, { default: usual, smoke, parse }]) => {
    const flag = flagName(option);
    const value = String(given[flag] ?? (given.smoke === true ? smoke : usual));
    return [option, parse(value, (mistake) => mistakes.push(`--${flag}: ${mistake}`))];
  });
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return Object.fromEntries(values) as Options<Table>;
}

function readArguments(table: FlagTable, argv: readonly string[]): Readonly<Record<string, unknown>> {
  const options = Object.entries(table).map(([option, { placeholder }]) => {
    return [flagName(option), { type: placeholder === undefined ? 'boolean' : 'string' }] as const;
  });
  try {
    return parseArgs({ args: [...argv], options: Object.fromEntries(options) }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function flagName(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Empty only where that is the default: a run that measures nothing is a mistake. */
function splitList(given: string, usual: string, report: Report): string[] {
  const items = given.split(',').map((item) => item.trim());
  const filled = items.filter((item) => item !== '');
  if (filled.length === 0 && usual !== '') report('the list is empty');
  return filled;
}

function parseNumber(given: string, [minimum, maximum]: Range, isWhole: boolean, report: Report): number {
  const value = Number(given);
  const isRight = given.trim() !== '' && value >= minimum && value <= maximum && (!isWhole || Number.isInteger(value));
  if (!isRight) report(`"${given}" is not a ${isWhole ? 'whole ' : ''}number from ${minimum} to ${maximum}`);
  return value;
}

export type HelpEntry = readonly [name: string, meaning: string];

/** Names that a flag takes, and what they mean. */
export interface HelpAppendix {
  readonly title: string;
  readonly entries: readonly HelpEntry[];
}

export function helpText(usage: readonly string[], table: FlagTable, appendix?: HelpAppendix): string {
  const flags = Object.entries(table).map(([option, { placeholder, default: usual, help }]): HelpEntry => {
    const name = `--${flagName(option)}${placeholder === undefined ? '' : ` ${placeholder}`}`;
    return [name, usual === '' || usual === '0' ? help : `${help} [${usual}]`];
  });
  const width = Math.max(...flags.map(([flag]) => flag.length));
  const inColumns = ([name, meaning]: HelpEntry) => `  ${name.padEnd(width)}  ${meaning}`;
  const below = appendix === undefined ? [] : ['', `${appendix.title}:`, ...appendix.entries.map(inColumns)];
  return [...usage, '', ...flags.map(inColumns), ...below, ''].join('\n');
}
