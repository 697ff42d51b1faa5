import { joined } from './event-splitter.js';
import { field } from './token-usage.js';

/** The body of a request to a model, checked. */
export interface ModelRequest {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly model: string;
  /** As it came, but for the usage that a stream must report. */
  readonly bytes: Uint8Array;
  /** The caller did not ask for the usage that the stream will report. */
  readonly hidesUsage: boolean;
}

const MAXIMUM_MODEL_CHARACTERS = 256;

/** Undefined where there is more. */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  maximumBytes: number,
): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(parts, length);
    length += value.length;
    if (length > maximumBytes) {
      await reader.cancel().catch(() => undefined);
      return undefined;
    }
    parts.push(value);
  }
}

/** A sentence where the body is none of a request to a model. */
export function readModelRequest(bytes: Uint8Array): ModelRequest | string {
  const text = decode(bytes);
  if (text === undefined) return 'The body is not UTF-8.';
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(text);
  } catch (error) {
    return `The body is not JSON: ${(error as Error).message}.`;
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return 'The body is not a JSON object.';
  const { model, stream } = fields;
  if (typeof model !== 'string' || model === '' || model.length > MAXIMUM_MODEL_CHARACTERS)
    return `"model" is a string of 1 to ${MAXIMUM_MODEL_CHARACTERS} characters.`;
  const hidesUsage = stream === true && field(fields.stream_options, 'include_usage') !== true;
  return { fields, model, bytes: hidesUsage ? withUsage(text, fields) : bytes, hidesUsage };
}

/** Written into the text, so that all other fields reach the upstream as the caller wrote them. */
function withUsage(text: string, fields: Readonly<Record<string, unknown>>): Uint8Array {
  const given = fields.stream_options;
  if (given !== undefined && given !== null)
    return encoder.encode(JSON.stringify({ ...fields, stream_options: { ...(given as object), include_usage: true } }));
  const { stream_options: isNull, ...others } = fields;
  if (isNull === null) return encoder.encode(JSON.stringify({ ...others, stream_options: { include_usage: true } }));
  return encoder.encode(text.replace('{', '{"stream_options":{"include_usage":true},'));
}

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}
