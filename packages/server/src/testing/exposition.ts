/** Reads what /metrics says as strictly as Prometheus does, and stricter: every mistake throws. */
interface ParsedMetric {
  readonly type: string;
  readonly samples: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\n"])*)"(,|$)/y;

export function parseExposition(text: string): ReadonlyMap<string, ParsedMetric> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const metrics = new Map<string, { type: string; samples: ParsedMetric['samples'][number][] }>();
  const seen = new Set<string>();
  let helped = '';
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, keyword, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      helped = name;
    } else if (keyword === 'TYPE') {
      if (helped !== name) throw new Error(`${name} has no help`);
      if (metrics.has(name)) throw new Error(`${name} comes twice`);
      if (!['counter', 'gauge', 'histogram', 'summary'].includes(rest)) throw new Error(`${name} has the type ${rest}`);
      metrics.set(name, { type: rest, samples: [] });
      current = name;
    } else {
      const sample = parseSample(line);
      const metric = metrics.get(current);
      const suffixes = metric?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (!suffixes.some((suffix) => sample.name === current + suffix)) throw new Error(`out of place: ${line}`);
      const identity = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (seen.has(identity)) throw new Error(`twice: ${line}`);
      seen.add(identity);
      metric?.samples.push(sample);
    }
  }
  for (const [name, metric] of metrics) {
    if (metric.type === 'counter' && !name.endsWith('_total')) throw new Error(`${name} is a counter without _total`);
    if (metric.type === 'histogram') checkHistogram(name, metric);
  }
  return metrics;
}

function parseSample(line: string): ParsedMetric['samples'][number] {
  const found = SAMPLE.exec(line);
  if (found === null) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  const text = found[2] ?? '';
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text);
    if (label === null) throw new Error(`labels: ${line}`);
    labels[label[1]] = label[2].replace(/\\([\\n"])/g, (_, character) => (character === 'n' ? '\n' : character));
  }
  const value = found[3].endsWith('Inf') ? Number(`${found[3]}inity`) : Number(found[3]);
  return { name: found[1], labels, value };
}

/** Buckets grow, end with +Inf, and that is the count. */
function checkHistogram(name: string, { samples }: ParsedMetric): void {
  const series = new Map<string, { bound: number; count: number }[]>();
  for (const sample of samples.filter((sample) => sample.name === `${name}_bucket`)) {
    const { le, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
    series.set(key, [...(series.get(key) ?? []), { bound, count: sample.value }]);
  }
  for (const [key, buckets] of series) {
    const last = buckets.at(-1);
    const isGrowing = buckets.every(
      ({ bound, count }, index) =>
        index === 0 || (bound > buckets[index - 1].bound && count >= buckets[index - 1].count),
    );
    const count = samples.find((sample) => sample.name === `${name}_count` && JSON.stringify(sample.labels) === key);
    if (!isGrowing || last?.bound !== Number.POSITIVE_INFINITY || last.count !== count?.value) {
      throw new Error(`${name}${key} is no histogram`);
    }
  }
}
