import { Mistake } from './mistake.js';
import { parseSizeBytes } from './size.js';

/**
 * The maximum of unsent bytes of one client. Above the hard limit it is closed at once; above the soft limit it is not
 * read from, and closed when it has stayed there for `softSeconds`. 0 means no such limit.
 */
export interface OutputLimit {
  readonly hardBytes: number;
  readonly softBytes: number;
  readonly softSeconds: number;
}

/** Redis's own form, `normal <hard> <soft> <seconds>`; the class may be left out, because there is only one. */
export function parseOutputLimit(text: string): OutputLimit {
  const words = text.trim().split(/\s+/);
  if (words.length === 4) {
    if (words.shift()?.toLowerCase() !== 'normal') {
      throw new Mistake('Invalid client class specified in buffer limit configuration.');
    }
  }
  const [hard, soft, seconds] = words;
  if (words.length !== 3 || hard === undefined || soft === undefined || seconds === undefined) {
    throw new Mistake('Wrong number of arguments in buffer limit configuration.');
  }
  try {
    if (!/^\d{1,9}$/.test(seconds)) throw new Mistake('argument must be a number of seconds');
    return { hardBytes: parseSizeBytes(hard), softBytes: parseSizeBytes(soft), softSeconds: Number(seconds) };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    throw new Mistake('Error in hard, soft or soft_seconds setting in buffer limit configuration.');
  }
}

export function printOutputLimit(limit: OutputLimit, printBytes: (bytes: number) => string): string {
  return `normal ${printBytes(limit.hardBytes)} ${printBytes(limit.softBytes)} ${limit.softSeconds}`;
}
