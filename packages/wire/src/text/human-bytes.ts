const UNITS = ['B', 'K', 'M', 'G', 'T'] as const;

/** 1536 → 1.50K, as Redis writes it. */
export function humanBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${value}B` : `${value.toFixed(2)}${UNITS[unit]}`;
}
