import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPolicySet, checkSeal, type SavedBook, type SavedPolicies } from '@quotadb/quota';
import { StorageError, writeWholeFile } from '@quotadb/storage';

/**
 * `quotas.json` in the data directory: the policies, and the replicas to which this one has granted tokens. A backup
 * leaves it out: a server that starts from a backup is a new incarnation and does not own those tokens.
 *
 * `quotas.previous.json` has the policies before their last change, and nothing about tokens: what was granted since
 * would be granted again. It is read where there is no `quotas.json`.
 *
 *   format | content
 *   -------|----------------------------------------------------------------------------
 *   1      | the book
 *   2      | { format, checksum, book }: SHA-256 of the book's JSON text, in hexadecimal
 */
const FILE = 'quotas.json';
const FORMER_FILE = 'quotas.previous.json';
const FORMAT = 2;

interface Sheet {
  readonly format: number;
  readonly checksum: string;
  readonly book: unknown;
}

export function loadBook(directory: string): SavedBook | undefined {
  return load(join(directory, FILE), checkBook, (path, reason) =>
    [
      `${path} is damaged (${reason}). To start without it, rename it: the policies then come from ${FORMER_FILE}`,
      '(those before their last change), from other regions, or are defined anew, and quotas begin with policies that',
      'are defined later, or with their next window',
    ].join(' '),
  );
}

/** The policies before their last change, for a directory whose book is gone. */
export function loadFormerPolicies(directory: string): SavedPolicies | undefined {
  return load(join(directory, FORMER_FILE), checkPolicies, (path, reason) =>
    [
      `${path} is damaged (${reason}), and there is no ${FILE}. Remove it to start without it: policies come back from`,
      'other regions or are defined anew',
    ].join(' '),
  );
}

/** On disk when it returns. */
export function saveBook(directory: string, book: SavedBook): void {
  write(directory, FILE, book);
}

export function saveFormerPolicies(directory: string, policies: SavedPolicies): void {
  write(directory, FORMER_FILE, policies);
}

function load<Content>(
  path: string,
  check: (content: Content) => Content,
  describe: (path: string, reason: string) => string,
): Content | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return check(contentOf(JSON.parse(text)) as Content);
  } catch (error) {
    throw new StorageError(describe(path, (error as Error).message));
  }
}

function contentOf(sheet: Sheet): unknown {
  if (sheet?.format === undefined) return sheet;
  const { format, checksum, book } = sheet;
  if (format !== FORMAT) throw new Error(`it has format ${format}, and this release reads up to ${FORMAT}`);
  if (checksumOf(JSON.stringify(book)) !== checksum) throw new Error('its checksum is wrong');
  return book;
}

function write(directory: string, name: string, book: unknown): void {
  const content = JSON.stringify(book);
  writeWholeFile(directory, name, `{"format":${FORMAT},"checksum":"${checksumOf(content)}","book":${content}}`);
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function checkBook(book: SavedBook): SavedBook {
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
  checkPolicies(book);
  return book;
}

function checkPolicies<Policies extends SavedPolicies>(policies: Policies): Policies {
  if (policies.set !== undefined) checkPolicySet(policies.set);
  checkSeal(policies.seal);
  return policies;
}
