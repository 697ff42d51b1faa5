import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from '../flags.js';
import { type Scenario, scenarios } from './scenario.js';

const clientNames = ['wrk', 'autocannon'] as const;
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

const names = scenarios.map(({ name }) => name);

const table = {
  texts: {
    scenario: { placeholder: 'NAME,…', default: names.join(','), help: `any of ${names.join(', ')}, or none` },
    items: { placeholder: 'N', default: '10000', smoke: '500', help: 'counts in the database' },
    connections: { placeholder: 'N', default: '256', smoke: '16', help: 'HTTP connections at once' },
    seconds: { placeholder: 'S', default: '10', smoke: '1', help: 'length of a round' },
    rounds: sharedFlags.rounds,
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
  },
  switches: { smoke: sharedSwitches.smoke, help: sharedSwitches.help },
} satisfies FlagTable;

const USAGE = 'quotadb bench counts [flags]   the counts API beside a service that sends one statement per request';

export function countsHelpText(): string {
  const entries = scenarios.map(({ name, description }) => [name, description] as const);
  return helpText([USAGE], table, { title: 'Scenarios', entries });
}

export function parseCountsOptions(argv: readonly string[]): CountsBenchOptions {
  const flags = new Flags(table, argv);
  const chosen = flags.text('scenario') === 'none' ? [] : flags.list('scenario');
  for (const name of chosen) if (!names.includes(name)) flags.mistakes.push(`--scenario: there is no "${name}"`);
  const wanted = flags.text('client');
  const client = clientNames.find((name) => name === wanted);
  if (client === undefined && wanted !== '') flags.mistakes.push(`--client: must be ${clientNames.join(' or ')}`);
  const options: CountsBenchOptions = {
    scenarios: scenarios.filter(({ name }) => chosen.includes(name)),
    items: flags.number('items', 1, 10_000_000),
    connections: flags.number('connections', 1, 10_000),
    seconds: flags.number('seconds', 1, 3_600),
    rounds: flags.number('rounds', 1, 100),
    pacedSeconds: flags.number('paced-seconds', 0, 3_600),
    pacedRate: flags.number('paced-rate', 1, 1_000_000),
    client,
    results: flags.text('results'),
    smoke: flags.isOn('smoke'),
    help: flags.isOn('help'),
  };
  flags.check();
  return options;
}
