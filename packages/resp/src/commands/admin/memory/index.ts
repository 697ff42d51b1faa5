import { errors } from '../../../errors/errors.js';
import { askLanes } from '../../../questions/ask-lanes.js';
import { argumentIs, keyword, numberArgument } from '../../../request/arguments.js';
import type { Command } from '../../../session/command.js';
import { container } from '../../../session/container.js';
import { addFigures } from '../../../statistics/figures.js';
import { processMemory } from '../../../statistics/process-memory.js';
import { memoryReport } from './report.js';

const SAMPLES = keyword('samples');

const memoryUsage: Command = {
  name: 'usage',
  arity: -3,
  flags: ['readonly'],
  keys: [2, 2, 1],
  group: 'server',
  summary: 'The bytes a key and its counter take.',
  since: '4.0.0',
  complexity: 'O(1)',
  syntax: 'key [SAMPLES count]',
  run({ request, engine, reply }) {
    for (let index = 3; index < request.argumentCount; index += 2) {
      if (!argumentIs(request, index, SAMPLES) || index + 1 === request.argumentCount) {
        reply.error(errors.syntax);
        return;
      }
      const samples = numberArgument(request, index + 1);
      if (!(samples >= 0)) {
        reply.error(Number.isNaN(samples) ? errors.notAnInteger : errors.syntax);
        return;
      }
    }
    const exists = engine.open(request.input, request.argumentStart[2], request.argumentLength[2]);
    if (exists) reply.integer(engine.memoryUsageBytes());
    else reply.nil();
    engine.close();
  },
};

const memoryStats: Command = {
  name: 'stats',
  arity: 2,
  flags: [],
  group: 'server',
  summary: 'Where the memory goes.',
  since: '4.0.0',
  complexity: 'O(1)',
  syntax: '',
  run(call) {
    askLanes(call, 'figures', null, ({ engine, reply }, lanes) => {
      const { sums, peakUsedBytes } = addFigures(lanes);
      const { keys, usedBytes, maxMemoryBytes } = engine.stats();
      const { residentBytes, heapUsedBytes } = processMemory();
      const figures: readonly (readonly [string, number])[] = [
        ['peak.allocated', Math.max(peakUsedBytes, usedBytes)],
        ['total.allocated', usedBytes],
        ['clients.normal', sums.clientBytes],
        ['keys.count', keys],
        ['keys.bytes-per-key', keys === 0 ? 0 : Math.round(usedBytes / keys)],
        ['dataset.bytes', usedBytes],
        ['maxmemory', maxMemoryBytes],
        ['process.resident', residentBytes],
        ['process.heap', heapUsedBytes],
      ];
      reply.map(figures.length);
      for (const [name, value] of figures) {
        reply.bulkText(name);
        reply.integer(value);
      }
    });
  },
};

const memoryDoctor: Command = {
  name: 'doctor',
  arity: 2,
  flags: [],
  group: 'server',
  summary: 'Says whether memory is short.',
  since: '4.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ engine, reply }) {
    reply.verbatim(memoryReport(engine.stats()));
  },
};

const memoryPurge: Command = {
  name: 'purge',
  arity: 2,
  flags: [],
  group: 'server',
  summary: 'Does nothing: freed memory is used again by itself.',
  since: '4.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ reply }) {
    reply.ok();
  },
};

const memoryMallocStats: Command = {
  name: 'malloc-stats',
  arity: 2,
  flags: [],
  group: 'server',
  summary: 'The store has no allocator that keeps figures.',
  since: '4.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ reply }) {
    reply.bulkText('Stats not supported for the current allocator');
  },
};

export const memory = container({
  name: 'memory',
  group: 'server',
  summary: 'How much memory is used, and for what.',
  since: '4.0.0',
  subcommands: [memoryDoctor, memoryMallocStats, memoryPurge, memoryStats, memoryUsage],
});
