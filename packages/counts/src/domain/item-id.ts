import { CountError } from './count-error.js';

/** Long enough for a UUID, a URN or a path-like name; short enough for an index entry and a log line. */
export const ITEM_ID_MAX_LENGTH = 255;

/** Control characters are refused: PostgreSQL cannot store NUL, and the others only ever hide in logs. */
export const ITEM_ID_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]+$';

const acceptable = new RegExp(ITEM_ID_PATTERN);

export function isItemId(text: string): boolean {
  if (text.length === 0 || text.length > ITEM_ID_MAX_LENGTH) return false;
  // URL parsers rewrite the segments "." and ".." even when percent-encoded, so such a count could not be addressed.
  if (text === '.' || text === '..') return false;
  return acceptable.test(text) && text.isWellFormed();
}

export function requireItemId(text: string): string {
  if (!isItemId(text)) throw new CountError('invalid_item_id');
  return text;
}
