import type { Difference } from './differences.js';

/** docs/redis-differences.md, from the table. */
export function differencesDocument(differences: readonly Difference[]): string {
  return [
    '# Where QuotaDB answers otherwise than Redis',
    '',
    'The differences that are meant. Made from `packages/server/src/differential/differences.ts`;',
    '`npx vitest run packages/server/src/differential -u` makes it anew. Tests try every row with an example on a real',
    'Redis and on QuotaDB, and hold every command that Redis 7 has and QuotaDB lacks to a row here. The commands that',
    'both have are compared byte by byte: all combinations of options, and random sequences of commands.',
    ...differences.flatMap(section),
  ].join('\n');
}

function section({ title, redis, ours, why, example }: Difference): string[] {
  const lines = ['', `## ${title}`, '', `- Redis: ${redis}`, `- QuotaDB: ${ours}`, `- Why: ${why}`];
  if (example === undefined) return lines;
  const commands = example.commands.map((words) => `> ${words.map(shown).join(' ')}`);
  return [
    ...lines,
    '',
    '```',
    ...commands,
    `Redis:   ${shownReply(example.redis)}`,
    `QuotaDB: ${shownReply(example.ours)}`,
    '```',
  ];
}

const LONGEST_SHOWN = 40;

function shown(word: string): string {
  if (word.length > LONGEST_SHOWN) return `"${word[0]}…" (${word.length} bytes)`;
  return /^[\w:.-]+$/.test(word) ? word : escaped(word);
}

function escaped(text: string): string {
  const inside = text.replace(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `"${inside}"`;
}

function shownReply(reply: string): string {
  return /^[ -~]*$/.test(reply) ? reply : escaped(reply).slice(1, -1);
}
