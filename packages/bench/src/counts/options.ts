import { parseArgs } from 'node:util';
import { UsageError } from '../options.js';
import { type Scenario, scenarios } from './scenario.js';

export const clientNames = ['wrk', 'autocannon'] as const;
export type ClientName = (typeof clientNames)[number];

export interface CountsBenchOptions {
  readonly scenarios: readonly Scenario[];
  readonly items: number;
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
  /** 0 leaves the run at a constant rate out. */
  readonly pacedSeconds: number;
  readonly pacedRate: number;
  /** Undefined: wrk where it is installed, else autocannon. */
  readonly client: ClientName | undefined;
  readonly results: string;
  readonly smoke: boolean;
  readonly help: boolean;
}

interface Flag {
  readonly placeholder: string;
  readonly default: string;
  readonly smoke?: string;
  readonly help: string;
}

const names = scenarios.map(({ name }) => name);

const flags = {
  scenario: { placeholder: 'NAME,…', default: names.join(','), help: `any of ${names.join(', ')}, or none` },
  items: { placeholder: 'N', default: '10000', smoke: '500', help: 'counts in the database' },
  connections: { placeholder: 'N', default: '256', smoke: '16', help: 'HTTP connections at once' },
  seconds: { placeholder: 'S', default: '10', smoke: '1', help: 'length of a round' },
  rounds: { placeholder: 'N', default: '3', smoke: '1', help: 'rounds of each side; medians are compared' },
  'paced-seconds': {
    placeholder: 'S',
    default: '60',
    smoke: '1',
    help: 'length of the run at a constant rate; 0 for none',
  },
  'paced-rate': { placeholder: 'N', default: '10000', smoke: '200', help: 'requests a second of that run' },
  client: {
    placeholder: 'NAME',
    default: '',
    help: `load generator: ${clientNames.join(' or ')}; wrk if it is installed`,
  },
  results: { placeholder: 'DIR', default: '', help: "history of all runs; the repository's bench/results/counts" },
} as const satisfies Record<string, Flag>;

export function parseCountsOptions(argv: readonly string[]): CountsBenchOptions {
  const given = readFlags(argv);
  const smoke = given.smoke === true;
  const mistakes: string[] = [];
  const text = (flag: keyof typeof flags): string => {
    const declared: Flag = flags[flag];
    return (given[flag] as string | undefined) ?? (smoke ? (declared.smoke ?? declared.default) : declared.default);
  };
  const whole = (flag: keyof typeof flags, minimum: number, maximum: number): number => {
    const value = Number(text(flag));
    if (!Number.isInteger(value) || value < minimum || value > maximum) {
      mistakes.push(`--${flag}: "${text(flag)}" is not a whole number from ${minimum} to ${maximum}`);
    }
    return value;
  };
  const chosen = text('scenario') === 'none' ? [] : text('scenario').split(',');
  for (const name of chosen) if (!names.includes(name)) mistakes.push(`--scenario: there is no "${name}"`);
  const client = clientNames.find((name) => name === text('client'));
  if (client === undefined && text('client') !== '') mistakes.push(`--client: must be ${clientNames.join(' or ')}`);
  const options: CountsBenchOptions = {
    scenarios: scenarios.filter(({ name }) => chosen.includes(name)),
    items: whole('items', 1, 10_000_000),
    connections: whole('connections', 1, 10_000),
    seconds: whole('seconds', 1, 3_600),
    rounds: whole('rounds', 1, 100),
    pacedSeconds: whole('paced-seconds', 0, 3_600),
    pacedRate: whole('paced-rate', 1, 1_000_000),
    client,
    results: text('results'),
    smoke,
    help: given.help === true,
  };
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return options;
}

function readFlags(argv: readonly string[]): Record<string, string | boolean | undefined> {
  const texts = Object.keys(flags).map((flag) => [flag, { type: 'string' as const }]);
  const switches = ['smoke', 'help'].map((flag) => [flag, { type: 'boolean' as const }]);
  try {
    return parseArgs({ args: [...argv], options: Object.fromEntries([...texts, ...switches]) }).values as Record<
      string,
      string | boolean
    >;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function countsHelpText(): string {
  const lines = Object.entries<Flag>(flags).map(([flag, { placeholder, default: value, help }]) => [
    `--${flag} ${placeholder}`,
    value === '' ? help : `${help} [${value}]`,
  ]);
  lines.push(
    ['--smoke', 'to see that everything works; its figures mean nothing and are not kept'],
    ['--help', 'this text'],
  );
  const width = Math.max(...lines.map(([flag]) => flag!.length));
  return [
    'quotadb bench counts [flags]   the counts API beside a service that sends one statement per request',
    '',
    ...lines.map(([flag, help]) => `  ${flag!.padEnd(width)}  ${help}`),
    '',
    'Scenarios:',
    ...scenarios.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    '',
  ].join('\n');
}
