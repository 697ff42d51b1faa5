import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { checkPolicySet, type SavedBook } from '@quotadb/quota';
import { StorageError } from '@quotadb/storage';

/**
 * `quotas.json` in the data directory: the policies, and the replicas to which this one has granted tokens. A backup
 * leaves it out: a server that starts from a backup is a new incarnation and does not own those tokens.
 */
const FILE = 'quotas.json';

export function loadBook(directory: string): SavedBook | undefined {
  const path = join(directory, FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return check(JSON.parse(text) as SavedBook);
  } catch (error) {
    throw new StorageError(
      `${path} is damaged (${(error as Error).message}). Remove it to start without it: policies come back from ` +
        'other regions or are defined anew, and quotas begin with their next window',
    );
  }
}

/** On disk when it returns: written beside the old file, then renamed over it. */
export function saveBook(directory: string, book: SavedBook): void {
  const path = join(directory, FILE);
  const fresh = `${path}.new`;
  const file = openSync(fresh, 'w', 0o640);
  try {
    writeSync(file, JSON.stringify(book));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
  const folder = openSync(directory, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function check(book: SavedBook): SavedBook {
  const isBook =
    typeof book === 'object' &&
    book !== null &&
    /^[0-9a-f]{64}$/.test(book.incarnation) &&
    Number.isFinite(book.beganMs) &&
    Number.isFinite(book.startsFromMs) &&
    Array.isArray(book.grantees) &&
    book.grantees.every(
      ({ origin, untilMs }) => /^[0-9a-f]{64}$/.test(origin) && (untilMs === null || Number.isFinite(untilMs)),
    ) &&
    Number.isFinite(book.forgottenUpToMs);
  if (!isBook) throw new Error('a field is missing');
  if (book.set !== undefined) checkPolicySet(book.set);
  return book;
}
