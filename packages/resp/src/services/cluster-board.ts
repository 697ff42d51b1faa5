import { type ClusterView, HELD, HERE, SLOT_COUNT, UNOWNED } from '@quotadb/cluster';
import { checkSize } from './shared-memory.js';

/**
 * Memory that the main thread writes and all lanes read: who owns which slot, and the view that clients get.
 *
 *   words | sequence   | odd while the view is written: a reader that meets a change reads again
 *         | viewBytes  | length of the view
 *         | 2 unused   |
 *   bytes | owners     | of every slot: HERE, HELD, UNOWNED, or another value where another group owns it
 *         | view       | JSON of a ClusterView
 *
 * The owners are read without looking at the sequence: each byte is right alone.
 */
const Word = { sequence: 0, viewBytes: 1 } as const;
const WORDS = 4;
const OWNERS_BYTE = WORDS * Int32Array.BYTES_PER_ELEMENT;
const VIEW_BYTE = OWNERS_BYTE + SLOT_COUNT;
/** Every node of 250 groups with 64 members each takes less. */
const VIEW_BYTES = 8 * 1024 * 1024;

export { HELD, HERE, UNOWNED };

const encoder = new TextEncoder();

export class ClusterBoard {
  readonly buffer: SharedArrayBuffer;
  readonly owners: Uint8Array;
  private readonly words: Int32Array;
  private readonly text: Uint8Array;

  constructor(buffer?: SharedArrayBuffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(VIEW_BYTE + VIEW_BYTES);
    checkSize('the board of the cluster', this.buffer, VIEW_BYTE + VIEW_BYTES);
    this.words = new Int32Array(this.buffer, 0, WORDS);
    this.owners = new Uint8Array(this.buffer, OWNERS_BYTE, SLOT_COUNT);
    this.text = new Uint8Array(this.buffer, VIEW_BYTE, VIEW_BYTES);
    if (buffer === undefined) this.owners.fill(UNOWNED);
  }

  /** The main thread: the view from now on. */
  setView(view: ClusterView): void {
    const bytes = encoder.encode(JSON.stringify(view));
    if (bytes.length > VIEW_BYTES) throw new Error(`a view of the cluster has ${bytes.length} bytes`);
    Atomics.add(this.words, Word.sequence, 1);
    this.text.set(bytes);
    this.words[Word.viewBytes] = bytes.length;
    Atomics.add(this.words, Word.sequence, 1);
  }

  /** Changes with the view. */
  get sequence(): number {
    return Atomics.load(this.words, Word.sequence);
  }

  /** Undefined before there is one. */
  view(): ClusterView | undefined {
    for (;;) {
      const before = this.sequence;
      if ((before & 1) === 1) continue;
      const bytes = Uint8Array.from(this.text.subarray(0, this.words[Word.viewBytes]));
      if (this.sequence !== before) continue;
      return bytes.length === 0 ? undefined : (JSON.parse(Buffer.from(bytes).toString('utf8')) as ClusterView);
    }
  }
}
