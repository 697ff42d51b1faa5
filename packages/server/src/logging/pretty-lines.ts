import { writeSync } from 'node:fs';
import { makeVisible } from '@quotadb/wire';

/** ANSI colours of the levels of pino, by number. */
const LEVELS: Readonly<Record<number, readonly [name: string, color: string]>> = {
  10: ['TRACE', '2'],
  20: ['DEBUG', '2'],
  30: ['INFO', '36'],
  40: ['WARN', '33'],
  50: ['ERROR', '31'],
  60: ['FATAL', '31;1'],
};
const DIM = '2';
/** Of a level's name, so that messages stand below each other. */
const LEVEL_WIDTH = 5;
/** Shown in front of the message, in the start, or below as a stack. */
const SHOWN_APART: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'region', 'err']);

interface Line {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly stack?: string; readonly message?: string };
  readonly [field: string]: unknown;
}

/** A destination of pino for people at a terminal: each JSON line becomes a time, a level, a message and its fields. */
export class PrettyLines {
  private readonly usesColors: boolean;
  private readonly descriptor: number;

  constructor(usesColors: boolean, descriptor = 2) {
    this.usesColors = usesColors;
    this.descriptor = descriptor;
  }

  /** Synchronous, so that no line is lost at exit. */
  write(json: string): void {
    writeSync(this.descriptor, `${formatLine(JSON.parse(json) as Line, this.usesColors)}\n`);
  }
}

export function formatLine(line: Line, usesColors: boolean): string {
  const paint = (color: string, text: string): string =>
    usesColors && text !== '' ? `\x1b[${color}m${text}\x1b[0m` : text;
  const [name, color] = LEVELS[line.level] ?? [String(line.level), DIM];
  const fields = Object.entries(line)
    .filter(([field]) => !SHOWN_APART.has(field))
    .map(([field, value]) => `${field}=${formatValue(value)}`);
  const parts = [
    paint(DIM, timeOfDay(line.time)),
    paint(color, name.padEnd(LEVEL_WIDTH)),
    makeVisible(line.msg ?? ''),
    paint(DIM, fields.join(' ')),
  ];
  return parts.filter((part) => part !== '').join(' ') + stackOf(line);
}

function timeOfDay(milliseconds: number): string {
  const date = new Date(milliseconds);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Incarnations and origins: people tell them apart by their first digits. JSON has them whole. */
const LONG_ID = /^[0-9a-f]{32,}$/;
const SHOWN_DIGITS = 8;

function formatValue(value: unknown): string {
  if (typeof value === 'string' && LONG_ID.test(value)) return `${value.slice(0, SHOWN_DIGITS)}…`;
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return makeVisible(isPlain ? value : (JSON.stringify(value) ?? ''));
}

function stackOf({ err }: Line): string {
  if (err === undefined) return '';
  const lines = (err.stack ?? err.message ?? '').split('\n');
  return lines.map((text) => `\n    ${makeVisible(text.trim())}`).join('');
}
