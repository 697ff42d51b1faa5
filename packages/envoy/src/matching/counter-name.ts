import { createHash } from 'node:crypto';
import type { Entry } from '../messages/rate-limit-request.js';
import type { SharedValues } from './find-rule.js';

/** The longest subject of a quota, and shorter than the longest key. */
const MAXIMUM_BYTES = 1024;

/** A longer name in UTF-16 may have more bytes than a counter's name. */
const MAXIMUM_UNITS = Math.floor(MAXIMUM_BYTES / 3);

/** The counter of a descriptor within its domain: its entries, as the reference joins them; or a digest of them. */
export function counterName(domain: string, entries: readonly Entry[], sharedValues: SharedValues): string {
  let name = `${domain}_`;
  for (let index = 0; index < entries.length; index++) {
    const { key, value } = entries[index];
    name += `${key}_${sharedValues?.[index] ?? value}_`;
  }
  if (name.length <= MAXIMUM_UNITS || Buffer.byteLength(name) <= MAXIMUM_BYTES) return name;
  return createHash('sha256').update(name).digest('hex');
}
