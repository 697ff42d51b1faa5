import { Mistake } from './mistake.js';

/** As in redis.conf, in any case: k, m and g are powers of 1000, kb and kib, mb, gb of 1024; a bare number is bytes. */
const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  kib: 1024,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
};

/** For messages: what a size looks like. */
export const SIZE_EXAMPLES = 'such as 512mb, 2gb or a number of bytes';

/** Throws a Mistake. */
export function parseSizeBytes(text: string): number {
  const bytes = readSizeBytes(text);
  if (bytes === undefined) throw new Mistake(`must be a size, ${SIZE_EXAMPLES}`, text);
  return bytes;
}

/** Undefined where the text is no size. */
export function readSizeBytes(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,15})([a-z]{0,3})$/i.exec(text.trim()) ?? [];
  const factor = unitBytes[unit?.toLowerCase() ?? 'none'];
  const bytes = Number(digits) * (factor ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The shortest exact form, for help and documentation: 512mb rather than 536870912. */
export function formatSize(bytes: number): string {
  for (const unit of ['gb', 'mb', 'kb']) {
    const factor = unitBytes[unit]!;
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return String(bytes);
}
