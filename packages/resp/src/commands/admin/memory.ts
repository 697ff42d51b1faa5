import { errors } from '../../errors/errors.js';
import { askLanes } from '../../questions/ask-lanes.js';
import { replyMap } from '../../reply/values.js';
import { argumentIs, keyword, numberArgument } from '../../request/arguments.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { addFigures } from '../../statistics/figures.js';
import { processMemory } from '../../statistics/process-memory.js';

const SAMPLES = keyword('samples');
/** Above this share of maxmemory the report asks for action. */
const NEARLY_FULL = 0.9;

const define = defineFamily({ flags: [], group: 'server', since: '4.0.0' });

const memoryUsage = define({
  name: 'usage',
  arity: -3,
  flags: ['readonly'],
  keys: [2, 2, 1],
  summary: 'The bytes of memory that a key and its counter use.',
  syntax: 'key [SAMPLES count]',
  run({ request, engine, reply }) {
    for (let index = 3; index < request.argumentCount; index += 2) {
      if (!argumentIs(request, index, SAMPLES) || index + 1 === request.argumentCount) {
        reply.error(errors.syntax);
        return;
      }
      const samples = numberArgument(request, index + 1);
      if (!(samples >= 0)) return reply.error(Number.isNaN(samples) ? errors.notAnInteger : errors.syntax);
    }
    const exists = engine.open(request.input, request.argumentStart[2], request.argumentLength[2]);
    if (exists) reply.integer(engine.memoryUsageBytes());
    else reply.nil();
    engine.close();
  },
});

const memoryStats = define({
  name: 'stats',
  arity: 2,
  summary: 'Memory by use.',
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
      replyMap(reply, figures);
    });
  },
});

const memoryDoctor = define({
  name: 'doctor',
  arity: 2,
  summary: 'Reports whether memory is nearly full.',
  run({ engine, reply }) {
    reply.verbatim(memoryReport(engine.stats()));
  },
});

const memoryPurge = define({
  name: 'purge',
  arity: 2,
  summary: 'Does nothing: the store reuses freed memory.',
  run({ reply }) {
    reply.ok();
  },
});

const memoryMallocStats = define({
  name: 'malloc-stats',
  arity: 2,
  summary: 'Not supported: the store has no allocator with statistics.',
  run({ reply }) {
    reply.bulkText('Stats not supported for the current allocator');
  },
});

export const memory = container({
  name: 'memory',
  group: 'server',
  summary: 'Memory usage.',
  since: '4.0.0',
  subcommands: [memoryDoctor, memoryMallocStats, memoryPurge, memoryStats, memoryUsage],
});

function memoryReport(figures: { usedBytes: number; maxMemoryBytes: number }): string {
  const share = figures.usedBytes / figures.maxMemoryBytes;
  const percent = `${(share * 100).toFixed(1)} % of maxmemory is used`;
  if (share < NEARLY_FULL) return `${percent}: all is well.\n`;
  return `${percent}: new keys are refused when it is full. Raise --max-memory, or give keys an expiry.\n`;
}
