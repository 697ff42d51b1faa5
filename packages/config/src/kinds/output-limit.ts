import { duration } from './duration.js';
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

const softTime = duration('seconds', 0, 999_999_999);

/** Redis's own form, `normal <hard> <soft> <seconds>`; the class may be left out, because there is only one. */
export function parseOutputLimit(text: string): OutputLimit {
  const words = text.trim().split(/\s+/);
  if (words[0].toLowerCase() === 'normal') words.shift();
  const [hard, soft, seconds] = words;
  if (words.length !== 3)
    throw new Mistake('must be "hard soft soft-seconds", such as "256mb 1mb 60s"; 0 for no limit', text);
  return { hardBytes: parseSizeBytes(hard), softBytes: parseSizeBytes(soft), softSeconds: softTime.parse(seconds) };
}

export function printOutputLimit(limit: OutputLimit, printBytes: (bytes: number) => string): string {
  return `normal ${printBytes(limit.hardBytes)} ${printBytes(limit.softBytes)} ${limit.softSeconds}`;
}
