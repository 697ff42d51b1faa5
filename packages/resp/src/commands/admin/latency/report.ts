import type { LatencyEvent } from '../../../statistics/latency-monitor.js';

export function latencyReport(events: readonly LatencyEvent[], thresholdMs: number): string {
  if (thresholdMs === 0) {
    return 'Latency is not being watched. CONFIG SET latency-monitor-threshold <milliseconds> starts it.\n';
  }
  if (events.length === 0) return `Nothing has taken ${thresholdMs} ms or longer.\n`;
  return events.map((event, index) => `${index + 1}. ${describe(event)}\n`).join('');
}

function describe({ name, samples, maximumMs }: LatencyEvent): string {
  const mean = samples.reduce((sum, [, milliseconds]) => sum + milliseconds, 0) / samples.length;
  return `${name}: ${samples.length} slow seconds, ${mean.toFixed(0)} ms on average, ${maximumMs} ms at worst.`;
}
