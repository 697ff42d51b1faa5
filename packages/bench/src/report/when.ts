import { COMMIT_LETTERS } from '../results/history.js';
import type { RunStamp } from '../results/stamp.js';

/** When and at which commit a row was measured; a plus where the working tree had changes that the commit lacks. */
export function whenText({ date, commit, uncommittedChanges }: RunStamp): string {
  return `${date.slice(0, 10)} ${commit.slice(0, COMMIT_LETTERS)}${uncommittedChanges ? '+' : ''}`;
}

export function limitsText(limits: Iterable<string>): string {
  return [...new Set([...limits].map((text) => text.replace(/^none:.*/, 'none')))].join('; ');
}
