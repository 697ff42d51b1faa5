/**
 * Cuts a stream of server-sent events into whole events, as the bytes arrived: each with the empty line that ends it.
 * Lines end in LF or CRLF.
 */
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** An event that is longer is passed on in pieces, unread. */
export const MAXIMUM_EVENT_BYTES = 1024 * 1024;

export interface StreamedEvent {
  readonly bytes: Uint8Array;
  /** False for a piece of an event that was too long, and for the rest of a stream that broke off. */
  readonly isWhole: boolean;
}

export class EventSplitter {
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** How many bytes of the current line have been seen, without its end; an empty line ends the event. */
  #lineBytes = 0;
  #isCut = false;

  push(chunk: Uint8Array): StreamedEvent[] {
    const events: StreamedEvent[] = [];
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === CARRIAGE_RETURN) continue;
      if (byte !== LINE_FEED) {
        this.#lineBytes++;
        continue;
      }
      const isEnd = this.#lineBytes === 0;
      this.#lineBytes = 0;
      if (!isEnd) continue;
      this.#hold(chunk.subarray(start, index + 1));
      events.push(this.#take(!this.#isCut));
      this.#isCut = false;
      start = index + 1;
    }
    this.#hold(chunk.subarray(start));
    if (this.#pendingBytes > MAXIMUM_EVENT_BYTES) {
      this.#isCut = true;
      events.push(this.#take(false));
    }
    return events;
  }

  /** The rest of a stream that has ended. */
  end(): StreamedEvent | undefined {
    return this.#pendingBytes === 0 ? undefined : this.#take(false);
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #take(isWhole: boolean): StreamedEvent {
    const bytes = this.#pending.length === 1 ? this.#pending[0]! : joined(this.#pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    return { bytes, isWhole };
  }
}

export function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const decoder = new TextDecoder();

/** The JSON in the data of an event; undefined where there is none, as in `data: [DONE]`. */
export function dataOf(event: Uint8Array): unknown {
  const lines = decoder.decode(event).split(/\r?\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length));
  try {
    return JSON.parse(data.join('\n'));
  } catch {
    return undefined;
  }
}
