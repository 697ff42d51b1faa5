import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { errorResponse } from './openai-errors.js';

/**
 * Serves a handler of fetch with `http.createServer(nodeHandler(handler))`. A caller that hangs up aborts its request.
 */
export function nodeHandler(handler: (request: Request) => Promise<Response>) {
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) gone.abort();
    });
    try {
      await write(await handler(requestOf(incoming, gone.signal)), outgoing, gone.signal);
    } catch (error) {
      if (gone.signal.aborted) return;
      // The caller sees that the answer broke off: one that looked whole would be worse.
      if (outgoing.headersSent) outgoing.destroy();
      else await write(internalError((error as Error).message), outgoing, gone.signal);
    }
  };
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', headers } = incoming;
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, 'http://proxy.invalid'), {
    method,
    headers: pairs,
    signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' }),
  } as RequestInit);
}

async function write(response: Response, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  const stop = () => void reader?.cancel(gone.reason).catch(() => undefined);
  gone.addEventListener('abort', stop);
  if (gone.aborted) stop();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
    if (!outgoing.write(part.value)) await once(outgoing, 'drain', { signal: gone });
  outgoing.end();
}

function internalError(message: string): Response {
  return errorResponse({ status: 500, type: 'server_error', code: 'internal_error', message });
}
