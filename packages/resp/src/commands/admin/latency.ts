import type { Request } from '@quotadb/wire';
import { askLanes } from '../../questions/ask-lanes.js';
import { textArgument } from '../../request/arguments.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { type LatencyEvent, mergeLatency } from '../../statistics/latency-monitor.js';

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'server', since: '2.8.13' });

const latencyLatest = define({
  name: 'latest',
  arity: 2,
  summary:
    'For each event: its name, when it last was slow, how long that took, and the longest ever, in milliseconds.',
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
  summary: 'When an event was slow, and how slow.',
  syntax: 'event',
  run(call) {
    const wanted = textArgument(call.request, 2);
    askLanes(call, 'latency', null, ({ reply }, lanes) => {
      const samples = mergeLatency(lanes).find(({ name }) => name === wanted)?.samples ?? [];
      reply.array(samples.length);
      for (const [atSeconds, milliseconds] of samples) {
        reply.array(2);
        reply.integer(atSeconds);
        reply.integer(milliseconds);
      }
    });
  },
});

const latencyReset = define({
  name: 'reset',
  arity: -2,
  summary: 'Forgets events, or all of them.',
  syntax: '[event [event ...]]',
  run(call) {
    const names = call.request.argumentCount > 2 ? texts(call.request, 2) : null;
    askLanes(call, 'resetLatency', names, ({ reply }, lanes) => reply.integer(new Set(lanes.flat()).size));
  },
});

const latencyDoctor = define({
  name: 'doctor',
  arity: 2,
  summary: 'The same in words.',
  run(call) {
    askLanes(call, 'latency', null, ({ reply, server }, lanes) =>
      reply.verbatim(latencyReport(mergeLatency(lanes), server.config.latencyThresholdMs)),
    );
  },
});

export const latency = container({
  name: 'latency',
  group: 'server',
  summary: 'Events that took long.',
  since: '2.8.13',
  subcommands: [latencyLatest, latencyHistory, latencyReset, latencyDoctor],
});

function texts(request: Request, from: number): string[] {
  return Array.from({ length: request.argumentCount - from }, (_, offset) => textArgument(request, from + offset));
}

function latencyReport(events: readonly LatencyEvent[], thresholdMs: number): string {
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
