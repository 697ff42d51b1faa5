import type { IncomingMessage } from 'node:http';
import { parseExactJson } from './exact-json.js';
import { ProblemError } from './problem.js';

/** The largest body any operation needs is an item id and a number. */
const MAX_BODY_BYTES = 16 * 1024;

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The parsed body; undefined when there is none. */
export function readJsonBody(request: IncomingMessage): unknown | Promise<unknown> {
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > MAX_BODY_BYTES) throw tooLarge();
  const mediaType = request.headers['content-type'];
  const isJson = mediaType === undefined || JSON_MEDIA_TYPE.test(mediaType);
  if (!isJson || request.headers['content-encoding'] !== undefined) throw new ProblemError('unsupported_media_type');
  return receive(request).then(parseBody);
}

function receive(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > MAX_BODY_BYTES) {
        request.removeAllListeners('data').pause();
        reject(tooLarge());
      }
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return parseExactJson(strictUtf8.decode(bytes));
  } catch {
    throw new ProblemError('malformed_json');
  }
}

/** The rest of the body is not read, so the connection cannot be used again. */
function tooLarge(): ProblemError {
  return new ProblemError('body_too_large', { headers: { Connection: 'close' } });
}
