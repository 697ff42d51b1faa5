import { running } from '../../values/running.js';

/**
 * Searching a string for another takes a time of the product of their lengths at worst (`aaa…b` in `aaa…`). Below this
 * product it is left to JavaScript; above, the search goes from one likely place to the next and can be interrupted.
 */
const UNINTERRUPTED_COMPARISONS = 1e7;
/** A place is likely where the first bytes of the text are found, this number of them. */
const PREFIX_BYTES = 32;
/** Bytes in which a text is looked for, at best, in about the time of one turn of a loop. */
const SCANNED_BYTES_PER_TURN = 1024;
/** Bytes that are compared in about the time of one turn of a loop. */
const BYTES_PER_TURN = 64;

/** As subject.indexOf(text, start). */
export function plainSearch(subject: string, text: string, start: number): number {
  const length = subject.length - start;
  if (text.length <= PREFIX_BYTES || length * text.length < UNINTERRUPTED_COMPARISONS) {
    running.work(length / SCANNED_BYTES_PER_TURN);
    return subject.indexOf(text, start);
  }
  const prefix = text.slice(0, PREFIX_BYTES);
  const last = subject.length - text.length;
  let at = subject.indexOf(prefix, start);
  while (at >= 0 && at <= last) {
    if (subject.startsWith(text, at)) return at;
    running.turns -= text.length / BYTES_PER_TURN;
    if (running.turns < 0) running.interrupt();
    at = subject.indexOf(prefix, at + 1);
  }
  return -1;
}
