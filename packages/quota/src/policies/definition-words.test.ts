import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDefinition, printDefinition } from './definition-words.js';

function parse(text: string) {
  return parseDefinition(text.split(' '));
}

test.each([
  ['60000', { windowMs: 60_000 }],
  ['60s', { windowMs: 60_000 }],
  ['1h30m', { windowMs: 5_400_000 }],
  ['NONE', { windowMs: 0 }],
  ['HOUR', { windowMs: 3_600_000, calendar: { unit: 'hour', timeZone: 'UTC', anchorDay: 1 } }],
  [
    'day ZONE Europe/Berlin',
    { windowMs: 86_400_000, calendar: { unit: 'day', timeZone: 'Europe/Berlin', anchorDay: 1 } },
  ],
  ['WEEK ANCHOR 7', { windowMs: 604_800_000, calendar: { unit: 'week', timeZone: 'UTC', anchorDay: 7 } }],
  [
    'MONTH ANCHOR 15 ZONE Asia/Tokyo',
    { windowMs: 2_678_400_000, calendar: { unit: 'month', timeZone: 'Asia/Tokyo', anchorDay: 15 } },
  ],
])('WINDOW %s is understood', (words, lasting) => {
  expect(parse(`calls LIMIT 10 WINDOW ${words}`)).toMatchObject({ name: 'calls', limit: 10, ...lasting });
});

test.each([
  ['calls LIMIT 10', /a WINDOW is needed.*60s/],
  ['calls LIMIT 10 WINDOW 0', /at least 1 millisecond/],
  ['calls LIMIT 10 WINDOW 5min', /'5min' is no WINDOW: give milliseconds, a time such as .*60s/],
  ['calls LIMIT 10 WINDOW YEAR', /'YEAR' is no WINDOW/],
  ['calls LIMIT ten WINDOW 1h', /a limit is a whole number from 0 to \d+, not 'ten'/],
  ['jobs LIMIT 5 LEASE soon', /a LEASE is a time .*, not 'soon'/],
  ['calls LIMIT 10 WINDOW 60', /the window 60 has no unit: write 60s or 60ms/],
  ['calls LIMIT 10 LEASE 30', /the lease 30 has no unit: write 30s or 30ms/],
  ['calls LIMIT 10 WINDOW 1h ZONE UTC', /ZONE and ANCHOR belong to a WINDOW of the calendar/],
  ['calls LIMIT 10 WINDOW DAY ZONE Europe/Atlantis', /'Europe\/Atlantis' is no time zone/],
  ['calls LIMIT 10 WINDOW DAY ANCHOR 2', /windows of a day have no anchor day/],
  ['calls LIMIT 10 WINDOW MONTH ANCHOR 32', /from 1 to 31/],
  ['calls LIMIT 10 LEASE 1m WINDOW DAY', /not both/],
  ['calls LIMIT 10 WINDOW DAY ON-UNREACHABLE ADMIT 1.5', /at most 1, not '1.5'/],
  ['calls LIMIT 10 WINDOW NONE ON-UNREACHABLE ADMIT 0.5', /only of a quota with a WINDOW/],
  ['calls LIMIT 10 WINDOW DAY ON-UNREACHABLE SHRUG', /DENY, by WAIT and a time, or by ADMIT/],
  ['calls LIMIT 10 WINDOW DAY constructor', /'CONSTRUCTOR' is not understood/],
])('%s is refused, and the error says why', (words, why) => {
  expect(() => parse(words)).toThrow(why);
});

test('what is printed is read as it was', () => {
  const lasting = fc.oneof(
    fc.integer({ min: 1, max: 1e9 }).map((ms) => `WINDOW ${ms < 1000 ? `${ms}ms` : ms}`),
    fc.integer({ min: 1, max: 1e6 }).map((ms) => `LEASE ${ms < 1000 ? `${ms}ms` : ms}`),
    fc.constantFrom('WINDOW NONE', 'WINDOW HOUR ZONE Asia/Kathmandu', 'WINDOW WEEK ANCHOR 3', 'WINDOW MONTH ANCHOR 31'),
  );
  const unreachable = fc.constantFrom('', ' ON-UNREACHABLE DENY', ' ON-UNREACHABLE WAIT 5s');
  const shares = fc.constantFrom('', ' ALLOCATOR eu', ' SHARE eu 0.25 SHARE us 0.5');
  fc.assert(
    fc.property(lasting, unreachable, shares, (how, patience, starts) => {
      const definition = parse(`calls LIMIT 10 ${how}${patience}${starts}`);
      expect(parse(printDefinition(definition))).toEqual(definition);
    }),
  );
  const admitting = parse('calls LIMIT 10 WINDOW DAY ON-UNREACHABLE ADMIT 0.1');
  expect(admitting.admitFraction).toBe(0.1);
  expect(parse(printDefinition(admitting))).toEqual(admitting);
});
