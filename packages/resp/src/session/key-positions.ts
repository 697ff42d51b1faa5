import type { Request } from '@quotadb/wire';
import { numberArgument } from '../request/arguments.js';
import type { CommandEntry } from './command-index.js';

/**
 * The position of the last key of a request; the keys are at entry.firstKey and every entry.keyStep behind it up to
 * there. Less than firstKey where the request has no keys, or says that it has more than there are arguments.
 */
export function lastKeyOf(entry: CommandEntry, request: Request): number {
  const { lastKey, keyCountAt } = entry;
  if (keyCountAt !== 0) return lastCountedKey(entry, request);
  return lastKey < 0 ? request.argumentCount + lastKey : lastKey;
}

function lastCountedKey({ firstKey, keyStep, keyCountAt }: CommandEntry, request: Request): number {
  if (keyCountAt >= request.argumentCount) return firstKey - 1;
  const count = numberArgument(request, keyCountAt);
  const last = firstKey + (count - 1) * keyStep;
  return count >= 1 && last < request.argumentCount ? last : firstKey - 1;
}
