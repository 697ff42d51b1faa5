/** Units of time, by their names in configurations: the number on the wire, and the length as the reference has it. */
export const units = {
  second: { number: 1, seconds: 1 },
  minute: { number: 2, seconds: 60 },
  hour: { number: 3, seconds: 3600 },
  day: { number: 4, seconds: 86_400 },
  month: { number: 5, seconds: 30 * 86_400 },
  year: { number: 6, seconds: 365 * 86_400 },
  week: { number: 7, seconds: 7 * 86_400 },
} as const;

export type UnitName = keyof typeof units;

const byNumber = new Map(Object.entries(units).map(([name, { number }]) => [number as number, name as UnitName]));

/** Undefined for UNKNOWN and for numbers that are not defined. */
export function unitNumbered(number: number): UnitName | undefined {
  return byNumber.get(number);
}
