import type { Request } from '@quotadb/wire';
import { askLanes } from '../../../questions/ask-lanes.js';
import { textArgument } from '../../../request/arguments.js';
import type { Command } from '../../../session/command.js';
import { container } from '../../../session/container.js';
import { mergeLatency } from '../../../statistics/latency-monitor.js';
import { latencyReport } from './report.js';

const latencyLatest: Command = {
  name: 'latest',
  arity: 2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary:
    'For each event: its name, when it last was slow, how long that took, and the longest ever, in milliseconds.',
  since: '2.8.13',
  complexity: 'O(1)',
  syntax: '',
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
};

const latencyHistory: Command = {
  name: 'history',
  arity: 3,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary: 'When an event was slow, and how slow.',
  since: '2.8.13',
  complexity: 'O(1)',
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
};

const latencyReset: Command = {
  name: 'reset',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary: 'Forgets events, or all of them.',
  since: '2.8.13',
  complexity: 'O(1)',
  syntax: '[event [event ...]]',
  run(call) {
    const names = call.request.argumentCount > 2 ? texts(call.request, 2) : null;
    askLanes(call, 'resetLatency', names, ({ reply }, lanes) => reply.integer(new Set(lanes.flat()).size));
  },
};

const latencyDoctor: Command = {
  name: 'doctor',
  arity: 2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary: 'The same in words.',
  since: '2.8.13',
  complexity: 'O(1)',
  syntax: '',
  run(call) {
    askLanes(call, 'latency', null, ({ reply, server }, lanes) =>
      reply.verbatim(latencyReport(mergeLatency(lanes), server.config.latencyThresholdMs)),
    );
  },
};

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
