import { Mistake } from './mistake.js';

/** As in redis.conf, in any case: k, m and g are powers of 1000, kb, mb and gb of 1024; a bare number is bytes. */
const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
};

export function parseSizeBytes(text: string): number {
  const [, digits, unit] = /^(\d{1,15})([a-z]{0,2})$/i.exec(text.trim()) ?? [];
  const factor = unitBytes[unit?.toLowerCase() ?? 'none'];
  const bytes = Number(digits) * (factor ?? Number.NaN);
  if (!Number.isSafeInteger(bytes)) throw new Mistake('argument must be a memory value');
  return bytes;
}

/** The shortest exact form, for help and documentation: 512mb rather than 536870912. */
export function formatSize(bytes: number): string {
  for (const unit of ['gb', 'mb', 'kb']) {
    const factor = unitBytes[unit]!;
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return String(bytes);
}
