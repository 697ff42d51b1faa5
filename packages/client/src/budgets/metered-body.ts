import { dataOf, EventSplitter, joined } from './event-splitter.js';
import { isUsageOnly, type UsageMeter } from './usage-meter.js';

/** The way of an answer from the upstream to the caller, piece by piece, as the meter reads it. */
export interface Passage {
  /** The pieces to pass on for a piece that arrived. */
  push(chunk: Uint8Array): Uint8Array[];
  /** The pieces to pass on at the end. */
  end(): Uint8Array[];
}

/** Events are passed on one by one, the usage that the caller did not ask for is not. */
export function streamedPassage(meter: UsageMeter, hidesUsage: boolean): Passage {
  const splitter = new EventSplitter();
  return {
    push(chunk) {
      const passed: Uint8Array[] = [];
      for (const { bytes, isWhole } of splitter.push(chunk)) {
        const data = isWhole ? dataOf(bytes) : undefined;
        if (data !== undefined) meter.note(data);
        if (!hidesUsage || !isUsageOnly(data)) passed.push(bytes);
      }
      return passed;
    },
    end() {
      const rest = splitter.end();
      return rest === undefined ? [] : [rest.bytes];
    },
  };
}

/** An answer in one piece is passed on as it arrives, and read at its end; a longer one counts as estimated. */
export function wholePassage(meter: UsageMeter, maximumBytes: number): Passage {
  let parts: Uint8Array[] | undefined = [];
  let length = 0;
  return {
    push(chunk) {
      length += chunk.length;
      if (length > maximumBytes) parts = undefined;
      parts?.push(chunk);
      return [chunk];
    },
    end() {
      if (parts !== undefined) meter.note(parsed(joined(parts, length)));
      if (!meter.isReported) meter.giveUp();
      return [];
    },
  };
}

export interface MeteredBody {
  readonly source: ReadableStream<Uint8Array>;
  readonly passage: Passage;
  /** Called once: at the end of the source, or when the source or the reader broke off. */
  readonly finish: () => Promise<unknown>;
  /** Breaks off the source. */
  readonly abort: () => void;
}

/** Reads from the source only when the caller reads, so no more than a piece is held here. */
export function meteredBody({ source, passage, finish, abort }: MeteredBody): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (let passed: Uint8Array[] = []; passed.length === 0; ) {
            const { done, value } = await reader.read();
            passed = done ? passage.end() : passage.push(value);
            for (const piece of passed) controller.enqueue(piece);
            if (!done) continue;
            await finish();
            controller.close();
            return;
          }
        } catch (error) {
          abort();
          await finish();
          controller.error(error);
        }
      },
      async cancel(reason) {
        abort();
        await Promise.all([reader.cancel(reason).catch(() => undefined), finish()]);
      },
    },
    { highWaterMark: 0 },
  );
}

const decoder = new TextDecoder();

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}
