import type { IncomingMessage } from 'node:http';
import { parseExactJson } from './exact-json.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';

/** Enough for a name and some numbers, which is all that most operations take. */
export const USUAL_BODY_BYTES = 16 * 1024;

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

export interface BodyBounds {
  readonly maximumBytes?: number;
  /** Takes JSON under any media type: `curl -d` sends it as a form. */
  readonly takesAnyMediaType?: boolean;
}

/** The parsed body; undefined when there is none. */
export function readJsonBody(request: IncomingMessage, bounds: BodyBounds = {}): unknown | Promise<unknown> {
  const { maximumBytes = USUAL_BODY_BYTES, takesAnyMediaType = false } = bounds;
  const { headers } = request;
  const length = headers['content-length'];
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > maximumBytes) throw tooLarge(maximumBytes);
  const mediaType = headers['content-type'];
  const isJson = takesAnyMediaType || mediaType === undefined || JSON_MEDIA_TYPE.test(mediaType);
  if (!isJson || headers['content-encoding'] !== undefined) throw new ProblemError(problems.unsupported_media_type);
  return receive(request, maximumBytes).then(parseBody);
}

function receive(request: IncomingMessage, maximumBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maximumBytes) {
        request.removeAllListeners('data').pause();
        reject(tooLarge(maximumBytes));
      }
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    // The client went away in the middle of its request; the answer will not arrive.
    request.on('error', () => reject(new ProblemError(problems.malformed_request)));
  });
}

function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return parseExactJson(strictUtf8.decode(bytes));
  } catch {
    throw new ProblemError(problems.malformed_json);
  }
}

/** The rest of the body is not read, so the connection cannot be used again. */
function tooLarge(maximumBytes: number): ProblemError {
  const detail = `The request body is larger than the ${maximumBytes} bytes that this operation takes.`;
  return new ProblemError(problems.body_too_large, { detail, headers: { Connection: 'close' } });
}
