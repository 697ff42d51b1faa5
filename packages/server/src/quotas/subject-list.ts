import type { Standing } from '@quotadb/quota';

/** A page of subjects, and where the next one begins: '0' after the last. */
export interface SubjectPage {
  readonly cursor: string;
  readonly subjects: readonly (Standing & { readonly subject: Uint8Array })[];
}

const MAXIMUM_SUBJECTS = 1000;
/** Keys in one step of a walk, and steps for one page: a page of a large store may be empty, as one of SCAN may. */
const STEP_KEYS = 100;
const STEPS = 100;

/** Which page is asked for. */
export interface PageRequest {
  readonly cursor: string;
  readonly count: number;
}

/** How the keys of a quota, or of a limit's counters, name subjects, and how those stand. */
export interface SubjectReader {
  /** Walks over the keys among which they are: a page of them, and where the next one begins. */
  readonly scan: (cursor: bigint, count: number, visit: (key: Uint8Array) => void) => bigint;
  /** Undefined where the key is of something else. */
  readonly subjectOf: (key: Uint8Array) => Uint8Array | undefined;
  readonly standingOf: (subject: Uint8Array) => Standing | { readonly error: string };
}

/**
 * The subjects of a limit that have tokens, counts or denials in the current window, as far as this region knows. It
 * walks over the keys of the store: one that is there all the while comes once, one that comes or goes may or
 * may not. A subject with several keys may come once more on a later page.
 */
export function listSubjects(
  { cursor, count }: PageRequest,
  { scan, subjectOf, standingOf }: SubjectReader,
): SubjectPage | { readonly error: string } {
  if (!/^\d{1,20}$/.test(cursor)) return { error: `'${cursor}' is no cursor: begin with 0` };
  if (!(Number.isSafeInteger(count) && count >= 1 && count <= MAXIMUM_SUBJECTS))
    return { error: `a page has 1 to ${MAXIMUM_SUBJECTS} subjects, not ${count}` };
  const found = new Map<string, Uint8Array>();
  let at = BigInt(cursor);
  for (let step = 0; step < STEPS && found.size < count; step++) {
    at = scan(at, Math.min(STEP_KEYS, count), (key) => {
      const subject = subjectOf(key);
      if (subject !== undefined) found.set(Buffer.from(subject).toString('latin1'), subject);
    });
    if (at === 0n) break;
  }
  const subjects = [...found.values()].flatMap((subject) => {
    const standing = standingOf(subject);
    return 'error' in standing ? [] : [{ ...standing, subject }];
  });
  return { cursor: at.toString(), subjects };
}
