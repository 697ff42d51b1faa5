import { parseArgs } from 'node:util';

/** Mistakes in the command line, all of them. */
export class UsageError extends Error {}

/** A flag with a value. A table of them, with one of switches, is the command line of a benchmark, and its help. */
export interface TextFlag {
  readonly placeholder: string;
  readonly default: string;
  /** The default of a smoke run, where it is another. */
  readonly smoke?: string;
  readonly help: string;
}

export interface FlagTable<Text extends string = string, Switch extends string = string> {
  readonly texts: { readonly [flag in Text]: TextFlag };
  /** Each with its help. */
  readonly switches: { readonly [flag in Switch]: string };
}

/** What was given, and the defaults of what was not. Mistakes are collected, to be told together. */
export class Flags<Text extends string, Switch extends string> {
  readonly mistakes: string[] = [];
  private readonly table: FlagTable<Text, Switch>;
  private readonly given: Readonly<Record<string, unknown>>;

  constructor(table: FlagTable<Text, Switch>, argv: readonly string[]) {
    this.table = table;
    const texts = Object.keys(table.texts).map((flag) => [flag, { type: 'string' as const }]);
    const switches = Object.keys(table.switches).map((flag) => [flag, { type: 'boolean' as const }]);
    try {
      this.given = parseArgs({ args: [...argv], options: Object.fromEntries([...texts, ...switches]) }).values;
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  }

  isOn(flag: Switch): boolean {
    return this.given[flag] === true;
  }

  text(flag: Text): string {
    const { default: usual, smoke = usual } = this.table.texts[flag];
    return (this.given[flag] as string | undefined) ?? (this.given.smoke === true ? smoke : usual);
  }

  /** Empty only where that is the default: a run that measures nothing was not meant. */
  list(flag: Text): string[] {
    const parts = this.text(flag).split(',');
    const items = parts.map((item) => item.trim()).filter((item) => item !== '');
    if (items.length === 0 && this.table.texts[flag].default !== '')
      this.mistakes.push(`--${flag}: there is nothing in it`);
    return items;
  }

  number(flag: Text, minimum: number, maximum: number, whole = true): number {
    return this.numberIn(flag, this.text(flag), minimum, maximum, whole);
  }

  numbers(flag: Text, minimum: number, maximum: number): number[] {
    return this.list(flag).map((item) => this.numberIn(flag, item, minimum, maximum, true));
  }

  /** When everything was asked for. */
  check(): void {
    if (this.mistakes.length > 0) throw new UsageError(this.mistakes.join('\n'));
  }

  private numberIn(flag: Text, text: string, minimum: number, maximum: number, whole: boolean): number {
    const value = Number(text);
    const isRight = text.trim() !== '' && value >= minimum && value <= maximum && (!whole || Number.isInteger(value));
    if (!isRight) {
      this.mistakes.push(`--${flag}: "${text}" is not a ${whole ? 'whole ' : ''}number from ${minimum} to ${maximum}`);
    }
    return value;
  }
}

type Entry = readonly [name: string, meaning: string];

/** Names that a flag takes, with what they mean. */
export interface HelpAppendix {
  readonly title: string;
  readonly entries: readonly Entry[];
}

export function helpText(usage: readonly string[], { texts, switches }: FlagTable, appendix?: HelpAppendix): string {
  const flags = Object.entries(texts).map(([flag, { placeholder, default: value, help }]): Entry => {
    return [`--${flag} ${placeholder}`, value === '' || value === '0' ? help : `${help} [${value}]`];
  });
  flags.push(...Object.entries(switches).map(([flag, help]): Entry => [`--${flag}`, help]));
  const width = Math.max(...flags.map(([flag]) => flag.length));
  const inColumns = ([name, meaning]: Entry) => `  ${name.padEnd(width)}  ${meaning}`;
  const below = appendix === undefined ? [] : ['', `${appendix.title}:`, ...appendix.entries.map(inColumns)];
  return [...usage, '', ...flags.map(inColumns), ...below, ''].join('\n');
}

/** Flags that several benchmarks have, in the same words. */
export const sharedFlags = {
  redis: { placeholder: 'PATH', default: '', help: 'redis-server; looked for on the PATH' },
  quotadb: { placeholder: 'PATH', default: '', help: 'the quotadb program to measure; this one unless given' },
  results: { placeholder: 'DIR', default: '', help: "history of all runs; the repository's bench/results" },
  incrementedKeys: { placeholder: 'N', default: '100000', smoke: '1000', help: 'keys that are incremented' },
  rounds: { placeholder: 'N', default: '3', smoke: '1', help: 'rounds of each side, by turns; medians are compared' },
} satisfies Record<string, TextFlag>;

export const sharedSwitches = {
  'no-limits': 'do not hold the servers to 2 CPUs and 2 GiB',
  smoke: 'to see that everything works; its figures mean nothing and are not kept',
  help: 'this text',
};
