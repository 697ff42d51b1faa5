import type { AvailabilityRow } from '../results/availability-row.js';
import { median } from '../results/summary.js';
import { markdownTable } from './markdown.js';

/** The section about kills; empty where they were never measured. The newest row of each side. */
export function renderAvailability(history: readonly AvailabilityRow[]): string[] {
  const rows = [...new Map(history.map((row) => [row.side, row])).values()];
  const [first] = rows;
  if (first === undefined) return [];
  const kills = Math.min(...rows.map(({ longestGapsMs }) => longestGapsMs.length));
  const lines = rows.map(({ side, version, longestGapsMs, medianGapsMs, loadAverage, ...row }) => [
    `${side} (${version})`,
    ms(median(longestGapsMs)),
    ms(Math.max(...longestGapsMs)),
    ms(median(medianGapsMs)),
    row.lostWrites === 0 ? '0' : `**${thousands(row.lostWrites)}**`,
    thousands(row.acknowledgedWrites),
    thousands(row.failedWrites),
    `${loadAverage}`,
  ]);
  return [
    '## When a server is killed',
    '',
    `${first.clients} ordinary cluster clients (ioredis with its own settings), each writing one key after another; a server`,
    `that takes writes is killed with SIGKILL and started again, ${kills} times or more (\`npx quotadb bench availability\`).`,
    'Servers are held to no limits.',
    'The longest time between two successful writes of a client around the kill: of the client that waited longest, its',
    'median over the kills and the worst; and of the median client. Lost: acknowledged, and not there when the store is',
    'whole again (in memory with --replicate-before-reply: at once, before the killed member is back). The load average',
    'says how busy the processors were with everything, other runs and programs included: it differs between the sides,',
    'as does the number of servers that share them.',
    '',
    ...markdownTable(
      ['', 'p50', 'worst', 'median client', 'lost writes', 'acknowledged', 'failed for the client', 'load average'],
      [0],
      lines,
    ),
    '',
  ];
}

function ms(value: number): string {
  return `${thousands(value)} ms`;
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
