/**
 * A metric, and the text in which Prometheus reads it:
 *
 *   # HELP quotadb_keys Keys in the store.
 *   # TYPE quotadb_keys gauge
 *   quotadb_keys{region="eu"} 12
 *
 * A histogram has a line for each bucket, cumulative, with the label `le`, and ends in _sum and _count.
 */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
}

type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number | HistogramValue;
}

interface HistogramValue {
  /** Upper bounds of the buckets but the last. */
  readonly bounds: readonly number[];
  /** Values in each bucket, not cumulated; one entry more than there are bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** A metric as a table declares it, under its name. */
export type MetricDeclaration = Omit<Metric, 'name'>;

export const counter = (help: string): MetricDeclaration => ({ type: 'counter', help });
export const gauge = (help: string): MetricDeclaration => ({ type: 'gauge', help });
export const histogram = (help: string): MetricDeclaration => ({ type: 'histogram', help });
/** Quantiles that the server has worked out itself, each a sample with the label `quantile`. */
export const summary = (help: string): MetricDeclaration => ({ type: 'summary', help });

/** A part of the server with metrics of its own; no two parts declare the same name. */
export interface MetricSource<Name extends string = string> {
  readonly metrics: Readonly<Record<Name, MetricDeclaration>>;
  collect(): Samples<Name> | Promise<Samples<Name>>;
}

export type Samples<Name extends string = string> = { readonly [name in Name]?: readonly Sample[] | number };

/** A sample for each value of one label, as of the outcomes of one thing. */
export function samplesBy(label: string, values: Readonly<Record<string, number>>, labels: Labels = {}): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { ...labels, [label]: name }, value }));
}

export function renderMetric(metric: Metric, samples: readonly Sample[]): string {
  const lines = [`# HELP ${metric.name} ${escapeHelp(metric.help)}`, `# TYPE ${metric.name} ${metric.type}`];
  for (const { labels, value } of samples) {
    if (typeof value === 'number') lines.push(line(metric.name, labels, value));
    else lines.push(...histogramLines(metric.name, labels, value));
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines(name: string, labels: Labels | undefined, { bounds, counts, sum }: HistogramValue): string[] {
  let total = 0;
  const lines: string[] = [];
  for (let index = 0; index < counts.length; index++) {
    total += counts[index];
    lines.push(line(`${name}_bucket`, { ...labels, le: index < bounds.length ? bounds[index] : '+Inf' }, total));
  }
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)];
}

function line(name: string, labels: Labels | undefined, value: number): string {
  const pairs = Object.entries(labels ?? {}).map(([label, text]) => `${label}="${escapeLabel(String(text))}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${printNumber(value)}`;
}

function printNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
