import { askLanes } from '../../questions/ask-lanes.js';
import { replyIntegers } from '../../reply/values.js';
import { textArgument, textArguments } from '../../request/arguments.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { type LatencyEvent, mergeLatency } from '../../statistics/latency-monitor.js';
import { latencyHistogram } from './latency-histogram.js';

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'server', since: '2.8.13' });

const latencyLatest = define({
  name: 'latest',
  arity: 2,
  summary:
    'For each event: its name, the time and duration of the last slow one, and the longest duration, in milliseconds.',
  run(call) {
    askLanes(call, 'latency', null, ({ reply }, lanes) => {
      const events = mergeLatency(lanes);
      reply.array(events.length);
      for (const { name, samples, maximumMs } of events) {
        const [atSeconds, milliseconds] = samples[samples.length - 1];
        reply.array(4);
        reply.bulkText(name);
        reply.integer(atSeconds);
        reply.integer(milliseconds);
        reply.integer(maximumMs);
      }
    });
  },
});

const latencyHistory = define({
  name: 'history',
  arity: 3,
  summary: 'The times and durations of a slow event.',
  syntax: 'event',
  run(call) {
    const wanted = textArgument(call.request, 2);
    askLanes(call, 'latency', null, ({ reply }, lanes) => {
      const samples = mergeLatency(lanes).find(({ name }) => name === wanted)?.samples ?? [];
      reply.array(samples.length);
      for (const sample of samples) replyIntegers(reply, sample);
    });
  },
});

const latencyReset = define({
  name: 'reset',
  arity: -2,
  summary: 'Clears the history of the named events, or of all.',
  syntax: '[event [event ...]]',
  run(call) {
    const names = call.request.argumentCount > 2 ? textArguments(call.request, 2) : null;
    askLanes(call, 'resetLatency', names, ({ reply }, lanes) => reply.integer(new Set(lanes.flat()).size));
  },
});

const latencyDoctor = define({
  name: 'doctor',
  arity: 2,
  summary: 'A report of slow events in words.',
  run(call) {
    askLanes(call, 'latency', null, ({ reply, server }, lanes) =>
      reply.verbatim(latencyReport(mergeLatency(lanes), server.config.latencyThresholdMs)),
    );
  },
});

export const latency = container({
  name: 'latency',
  group: 'server',
  summary: 'Slow events.',
  since: '2.8.13',
  subcommands: [latencyLatest, latencyHistory, latencyHistogram, latencyReset, latencyDoctor],
});

function latencyReport(events: readonly LatencyEvent[], thresholdMs: number): string {
  if (thresholdMs === 0) {
    return 'Latency is not monitored. CONFIG SET latency-monitor-threshold <milliseconds> starts it.\n';
  }
  if (events.length === 0) return `No event has taken ${thresholdMs} ms or longer.\n`;
  return events.map((event, index) => `${index + 1}. ${describe(event)}\n`).join('');
}

function describe({ name, samples, maximumMs }: LatencyEvent): string {
  const mean = samples.reduce((sum, [, milliseconds]) => sum + milliseconds, 0) / samples.length;
  return `${name}: ${samples.length} slow seconds, ${mean.toFixed(0)} ms on average, ${maximumMs} ms at worst.`;
}
