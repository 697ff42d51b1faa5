const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  if (Math.abs(value) < 10 && !Number.isInteger(value)) return value.toFixed(1);
  return Math.abs(value) < 10_000 ? whole.format(Math.round(value)) : short.format(value);
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let scaled = value;
  while (scaled >= 1000 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  return `${unit === 0 ? scaled : scaled.toFixed(scaled < 10 ? 2 : 1)} ${units[unit]}`;
}

export function milliseconds(value: number): string {
  if (value < 0) return 'not known';
  if (value < 1) return `${value.toFixed(2)} ms`;
  if (value < 10_000) return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
  return duration(value / 1000);
}

export function microseconds(value: number | null): string {
  if (value === null) return '–';
  return value < 1000 ? `${Math.round(value)} µs` : milliseconds(value / 1000);
}

export function duration(seconds: number): string {
  const steps: [number, string][] = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const index = steps.findIndex(([length]) => seconds >= length);
  if (index === -1) return '0 s';
  const [length, unit] = steps[index];
  const rest = steps[index + 1];
  const more = rest === undefined ? 0 : Math.floor((seconds % length) / rest[0]);
  return `${Math.floor(seconds / length)} ${unit}${rest !== undefined && more > 0 ? ` ${more} ${rest[1]}` : ''}`;
}

export function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString('en-GB');
}

export function untilTime(expiresAtMs: number, nowMs: number): string {
  return expiresAtMs === 0 ? 'never' : `in ${duration(Math.max(0, (expiresAtMs - nowMs) / 1000))}`;
}
