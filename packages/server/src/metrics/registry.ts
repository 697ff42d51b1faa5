import { type Metric, type MetricSource, renderMetric } from './metric.js';

const NAME = /^[a-z][a-z0-9_]*$/;

/** All metrics of /metrics, collected from the parts of the server. */
export class MetricRegistry {
  private readonly sources: readonly MetricSource[];
  private readonly known = new Map<string, Metric>();

  constructor(sources: readonly MetricSource[]) {
    this.sources = sources;
    for (const [name, declaration] of sources.flatMap(({ metrics }) => Object.entries(metrics))) {
      if (!NAME.test(name)) throw new Error(`${name} is no name for a metric`);
      if (this.known.has(name)) throw new Error(`two metrics named ${name}`);
      this.known.set(name, { name, ...declaration });
    }
  }

  metrics(): readonly Metric[] {
    return [...this.known.values()];
  }

  /** The text format of Prometheus, version 0.0.4. */
  async render(): Promise<string> {
    const collected = await Promise.all(this.sources.map((source) => source.collect()));
    const texts: string[] = [];
    for (const samples of collected) {
      for (const [name, found] of Object.entries(samples)) {
        const metric = this.known.get(name);
        if (metric === undefined || found === undefined) continue;
        texts.push(renderMetric(metric, typeof found === 'number' ? [{ value: found }] : found));
      }
    }
    return texts.join('');
  }
}
