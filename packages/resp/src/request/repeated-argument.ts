import type { Request } from '@quotadb/wire';

const WORD_BYTES = 4;
/** Three words cover it. */
const LONGEST_KEPT = 12;

/**
 * An argument that most requests repeat, such as a limit or the length of its window: its value is worked out once, and
 * then it is recognized by its bytes, three words at most.
 */
export class RepeatedArgument {
  value = Number.NaN;
  private length = -1;
  private head = 0;
  private middle = 0;
  private tail = 0;

  /** Whether the argument is the one whose value was kept. */
  is(request: Request, index: number): boolean {
    const length = request.argumentLength[index];
    if (length !== this.length) return false;
    const { view } = request.input;
    const start = request.argumentStart[index];
    if (length < WORD_BYTES) return shortWord(view, start, length) === this.head;
    return (
      view.getInt32(start, true) === this.head &&
      view.getInt32(start + length - WORD_BYTES, true) === this.tail &&
      view.getInt32(start + (length >>> 1) - 2, true) === this.middle
    );
  }

  keep(request: Request, index: number, value: number): number {
    const length = request.argumentLength[index];
    const isKept = length > 0 && length <= LONGEST_KEPT;
    this.length = isKept ? length : -1;
    if (!isKept) return value;
    const { view } = request.input;
    const start = request.argumentStart[index];
    this.value = value;
    this.head = length < WORD_BYTES ? shortWord(view, start, length) : view.getInt32(start, true);
    if (length < WORD_BYTES) return value;
    this.tail = view.getInt32(start + length - WORD_BYTES, true);
    this.middle = view.getInt32(start + (length >>> 1) - 2, true);
    return value;
  }
}

/** Up to three bytes; behind every argument lies slack. */
function shortWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start, true) & ((1 << (length << 3)) - 1);
}
