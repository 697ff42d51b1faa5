import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { parseExactJson } from './exact-json.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';

/** Enough for a name and some numbers, which is all that most operations take. */
export const USUAL_BODY_BYTES = 16 * 1024;

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const FORM_MEDIA_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const SHOWN_CHARACTERS = 128;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

export interface BodyBounds {
  readonly maximumBytes?: number;
}

/** The bytes of the body; undefined when there is none. */
export function receiveBody(request: IncomingMessage, bounds: BodyBounds = {}): Promise<Buffer> | undefined {
  const { maximumBytes = USUAL_BODY_BYTES } = bounds;
  const { headers } = request;
  const length = headers['content-length'];
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > maximumBytes) throw tooLarge(maximumBytes);
  if (!isTakenAsJson(headers) || headers['content-encoding'] !== undefined) throw unsupported(headers);
  return receive(request, maximumBytes);
}

/**
 * JSON comes under its own media type, or under none. `curl -d` sends it as a form, and so can a form on any page: that
 * is taken from clients that are no browsers, which send none of the headers that name the site of a page (see Sites).
 */
function isTakenAsJson({ 'content-type': mediaType, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (mediaType === undefined || JSON_MEDIA_TYPE.test(mediaType)) return true;
  return FORM_MEDIA_TYPE.test(mediaType) && origin === undefined && site === undefined;
}

function unsupported({ 'content-type': mediaType, 'content-encoding': encoding }: IncomingHttpHeaders): ProblemError {
  const given = encoding === undefined ? `Content-Type: ${mediaType}` : `Content-Encoding: ${encoding}`;
  const detail = `${problems.unsupported_media_type.detail} It has "${given.slice(0, SHOWN_CHARACTERS)}".`;
  return new ProblemError(problems.unsupported_media_type, { detail });
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

/** The JSON in a body; undefined where there is none. */
export function parseBody(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) return undefined;
  try {
    return parseExactJson(strictUtf8.decode(bytes));
  } catch (error) {
    const detail = `${problems.malformed_json.detail} ${(error as Error).message}.`;
    throw new ProblemError(problems.malformed_json, { detail });
  }
}

/** The rest of the body is not read, so the connection cannot be used again. */
export function tooLarge(maximumBytes: number): ProblemError {
  const detail = `The request body is larger than the ${maximumBytes} bytes that this operation takes.`;
  return new ProblemError(problems.body_too_large, { detail, headers: { Connection: 'close' } });
}
