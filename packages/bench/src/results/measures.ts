/** Every measure, once: its title, which way is better, how it is printed. */
export interface Measure {
  readonly title: string;
  /** Undefined: printed for context; no side is ahead in it. */
  readonly better?: 'higher' | 'lower';
  readonly format: (value: number) => string;
}

const measures = {
  throughputPerSecond: { title: 'throughput, operations/s', better: 'higher', format: thousands },
  serverCpuMicrosecondsPerOperation: { title: 'server CPU, µs/operation', better: 'lower', format: decimals(3) },
  p50Ms: { title: 'p50, ms', better: 'lower', format: decimals(3) },
  p99Ms: { title: 'p99, ms', better: 'lower', format: decimals(3) },
  p999Ms: { title: 'p99.9, ms', better: 'lower', format: decimals(3) },
  serverBusyCpus: { title: 'server busy, CPUs', format: decimals(2) },
  clientBusyCpus: { title: 'client busy, CPUs', format: decimals(2) },
  halfLoadPerSecond: { title: 'at half load: operations/s', format: thousands },
  halfLoadServerCpuMicrosecondsPerOperation: {
    title: 'at half load: server CPU, µs/operation',
    better: 'lower',
    format: decimals(3),
  },
  halfLoadP50Ms: { title: 'at half load: p50, ms', better: 'lower', format: decimals(3) },
  halfLoadP99Ms: { title: 'at half load: p99, ms', better: 'lower', format: decimals(3) },
  halfLoadP999Ms: { title: 'at half load: p99.9, ms', better: 'lower', format: decimals(3) },
  aimedLoadPerSecond: { title: 'at the load of the aim: operations/s', format: thousands },
  aimedLoadP50Ms: { title: 'at the load of the aim: p50, ms', better: 'lower', format: decimals(3) },
  aimedLoadP99Ms: { title: 'at the load of the aim: p99, ms', better: 'lower', format: decimals(3) },
  aimedLoadP999Ms: { title: 'at the load of the aim: p99.9, ms', better: 'lower', format: decimals(3) },
  residentBytesPerKey: { title: 'resident memory, bytes/key', better: 'lower', format: decimals(1) },
  usedBytesPerKey: { title: "server's own count, bytes/key", better: 'lower', format: decimals(1) },
  logBytesPerMillionIncrements: { title: 'log, bytes/million increments', better: 'lower', format: thousands },
  loadSeconds: { title: 'start until ready, s', better: 'lower', format: decimals(2) },
  diskBytesPerKey: { title: 'on disk, bytes/key', better: 'lower', format: decimals(1) },
  lagP50Ms: { title: 'lag p50, ms', better: 'lower', format: decimals(1) },
  lagP99Ms: { title: 'lag p99, ms', better: 'lower', format: decimals(1) },
  wireBytesPerMillionIncrements: {
    title: 'sent to a peer, bytes/million increments',
    better: 'lower',
    format: thousands,
  },
  componentsPerMillionIncrements: { title: 'sent to a peer, components/million increments', format: thousands },
  joinSeconds: { title: 'empty until complete, s', better: 'lower', format: decimals(2) },
  wireBytesPerKey: { title: 'sent to a peer, bytes/key', better: 'lower', format: decimals(1) },
  wireMebibytesPerSecond: { title: 'sent to a peer, MiB/s', better: 'higher', format: decimals(1) },
  residentMebibytes: { title: 'resident in all, MiB', format: decimals(1) },
} as const satisfies Record<string, Measure>;

export type MeasureName = keyof typeof measures;
export const measureNames = Object.keys(measures) as MeasureName[];

export function measureOf(name: MeasureName): Measure {
  return measures[name];
}

/** The figures of one round. A measure that this machine cannot take is left out. */
export type Round = Partial<Record<MeasureName, number>>;

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function decimals(digits: number) {
  return (value: number) => value.toFixed(digits);
}
