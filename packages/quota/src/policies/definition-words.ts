import { CALENDAR_UNITS, type Calendar, type CalendarUnit } from '@quotadb/engine';
import { DURATION_EXAMPLES, parseDuration } from '@quotadb/wire';
import { calendarWindowMs, type Definition, MAXIMUM_LIMIT, type Share } from './policy.js';
import { checkDefinition, PolicyError } from './policy-set.js';

/** Where no allocator is named it is the home. */
export type PartialDefinition = Omit<Definition, 'allocator'> & { readonly allocator: string | undefined };

/** What a caller waits for tokens of other regions where neither it nor the policy says. */
export const USUAL_WAIT_MS = 1000;

export const DEFINE_SYNTAX =
  'name LIMIT limit ' +
  '<WINDOW <milliseconds | duration | HOUR | DAY | WEEK | MONTH | NONE> [ZONE zone] [ANCHOR day] | ' +
  'LEASE <milliseconds | duration>> [ALLOCATOR region] [SHARE region fraction [SHARE …]] ' +
  '[ON-UNREACHABLE <DENY | WAIT <milliseconds | duration> | ADMIT fraction>]';

const WINDOWS = `milliseconds, a time such as ${DURATION_EXAMPLES}, HOUR, DAY, WEEK, MONTH, or NONE`;

/** What the words have said so far. */
interface Draft {
  limit: number;
  windowMs: number;
  unit: CalendarUnit | undefined;
  timeZone: string | undefined;
  anchorDay: number | undefined;
  leaseMs: number;
  allocator: string | undefined;
  waitMs: number;
  admitFraction: number;
  readonly shares: Share[];
}

type ReadWord = () => string;

const PARTS: Readonly<Record<string, (draft: Draft, next: ReadWord) => void>> = {
  LIMIT: (draft, next) => {
    draft.limit = limitOf(next());
  },
  WINDOW: (draft, next) => readWindow(draft, next()),
  ZONE: (draft, next) => {
    draft.timeZone = next();
  },
  ANCHOR: (draft, next) => {
    draft.anchorDay = whole(next());
  },
  LEASE: (draft, next) => {
    draft.leaseMs = leaseOf(next());
  },
  ALLOCATOR: (draft, next) => {
    draft.allocator = next();
  },
  SHARE: (draft, next) => {
    draft.shares.push({ region: next(), fraction: Number(next()) });
  },
  'ON-UNREACHABLE': (draft, next) => readUnreachable(draft, next().toUpperCase(), next),
};

/** The words of a QUOTA.DEFINE, or of a quota in the configuration; throws a PolicyError. */
export function parseDefinition(words: readonly string[]): PartialDefinition {
  const [name = '', ...rest] = words;
  const draft: Draft = {
    limit: Number.NaN,
    windowMs: Number.NaN,
    unit: undefined,
    timeZone: undefined,
    anchorDay: undefined,
    leaseMs: 0,
    allocator: undefined,
    waitMs: USUAL_WAIT_MS,
    admitFraction: 0,
    shares: [],
  };
  let at = 0;
  const next = () => {
    const word = rest[at++];
    if (word === undefined) throw new PolicyError(`something is missing at the end: ${DEFINE_SYNTAX}`);
    return word;
  };
  while (at < rest.length) {
    const word = next().toUpperCase();
    const read = Object.hasOwn(PARTS, word) ? PARTS[word] : undefined;
    if (read === undefined) throw new PolicyError(`'${word}' is not understood: ${DEFINE_SYNTAX}`);
    read(draft, next);
  }
  const { limit, allocator, shares, waitMs, admitFraction } = draft;
  const admit = admitFraction === 0 ? {} : { admitFraction };
  const definition = { name, limit, ...lastingOf(draft), allocator, shares, waitMs, ...admit };
  checkDefinition({ ...definition, allocator: allocator ?? 'home' });
  return definition;
}

export function printDefinition(definition: PartialDefinition): string {
  const { name, limit, allocator, shares, waitMs, admitFraction = 0 } = definition;
  const patience = waitMs === 0 ? 'DENY' : `WAIT ${waitMs}`;
  return [
    `${name} LIMIT ${limit} ${printLasting(definition)}`,
    ...(allocator === undefined ? [] : [`ALLOCATOR ${allocator}`]),
    ...shares.map(({ region, fraction }) => `SHARE ${region} ${fraction}`),
    `ON-UNREACHABLE ${patience}`,
    ...(admitFraction === 0 ? [] : [`ON-UNREACHABLE ADMIT ${admitFraction}`]),
  ].join(' ');
}

/** The window or the lease of a definition, as words that parseDefinition reads. */
function printLasting({
  windowMs,
  calendar,
  leaseMs = 0,
}: Pick<Definition, 'windowMs' | 'calendar' | 'leaseMs'>): string {
  if (leaseMs > 0) return `LEASE ${printSpan(leaseMs)}`;
  if (calendar === undefined) return `WINDOW ${windowMs === 0 ? 'NONE' : printSpan(windowMs)}`;
  const { unit, timeZone, anchorDay } = calendar;
  const hasAnchor = unit === 'week' || unit === 'month';
  return `WINDOW ${unit.toUpperCase()} ZONE ${timeZone}${hasAnchor ? ` ANCHOR ${anchorDay}` : ''}`;
}

function readWindow(draft: Draft, word: string): void {
  const unit = word.toLowerCase() as CalendarUnit;
  if (CALENDAR_UNITS.includes(unit)) {
    draft.unit = unit;
    draft.windowMs = Number.NaN;
    return;
  }
  draft.unit = undefined;
  draft.windowMs = word.toUpperCase() === 'NONE' ? 0 : lengthOf('window', word);
  if (Number.isNaN(draft.windowMs)) throw new PolicyError(`'${word}' is no WINDOW: give ${WINDOWS}`);
  if (draft.windowMs === 0 && word.toUpperCase() !== 'NONE')
    throw new PolicyError('a window has at least 1 millisecond, or there is NONE');
}

function readUnreachable(draft: Draft, word: string, next: ReadWord): void {
  if (word === 'DENY') draft.waitMs = 0;
  else if (word === 'WAIT') draft.waitMs = spanOf(next());
  else if (word === 'ADMIT') draft.admitFraction = admitOf(next());
  else throw new PolicyError('ON-UNREACHABLE is followed by DENY, by WAIT and a time, or by ADMIT and a fraction');
}

function lastingOf(draft: Draft): Pick<Definition, 'windowMs' | 'calendar' | 'leaseMs'> {
  const { windowMs, unit, timeZone, anchorDay, leaseMs } = draft;
  const hasWindow = unit !== undefined || !Number.isNaN(windowMs);
  if (leaseMs === 0 && !hasWindow)
    throw new PolicyError(`a WINDOW is needed: ${WINDOWS}; or a LEASE where it limits how much may be held at once`);
  if (leaseMs > 0 && hasWindow) throw new PolicyError('a quota has a WINDOW or a LEASE, not both');
  if (unit === undefined && (timeZone !== undefined || anchorDay !== undefined))
    throw new PolicyError('ZONE and ANCHOR belong to a WINDOW of the calendar: HOUR, DAY, WEEK or MONTH');
  if (leaseMs > 0) return { windowMs: 0, leaseMs };
  if (unit === undefined) return { windowMs };
  const calendar: Calendar = { unit, timeZone: timeZone ?? 'UTC', anchorDay: anchorDay ?? 1 };
  return { windowMs: calendarWindowMs(calendar), calendar };
}

function limitOf(word: string): number {
  const limit = whole(word);
  if (Number.isNaN(limit)) throw new PolicyError(`a limit is a whole number from 0 to ${MAXIMUM_LIMIT}, not '${word}'`);
  return limit;
}

function leaseOf(word: string): number {
  const leaseMs = lengthOf('lease', word);
  if (!(leaseMs >= 1))
    throw new PolicyError(`a LEASE is a time of at least 1 millisecond, such as ${DURATION_EXAMPLES}, not '${word}'`);
  return leaseMs;
}

function admitOf(word: string): number {
  const fraction = Number(word);
  if (word.trim() === '' || !(fraction > 0 && fraction <= 1))
    throw new PolicyError(`ADMIT is followed by a fraction of the limit above 0 and at most 1, not '${word}'`);
  return fraction;
}

/** A bare number below this is as likely meant in seconds: it needs a unit. */
const UNITLESS_FROM_MS = 1000;

function lengthOf(what: string, word: string): number {
  const ms = spanOf(word);
  if (/^\d+$/.test(word) && ms > 0 && ms < UNITLESS_FROM_MS)
    throw new PolicyError(`the ${what} ${word} has no unit: write ${word}s or ${word}ms`);
  return ms;
}

function printSpan(ms: number): string {
  return ms < UNITLESS_FROM_MS ? `${ms}ms` : String(ms);
}

/** Milliseconds, from a number of them or a duration; NaN where it is neither. */
function spanOf(word: string): number {
  const span = /^\d/.test(word) && !/^\d+$/.test(word) ? parseDuration(word) : whole(word);
  return span ?? Number.NaN;
}

function whole(word: string): number {
  return /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN;
}
