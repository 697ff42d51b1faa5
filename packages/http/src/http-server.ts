import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions, TlsOptions } from 'node:tls';
import { answerOfProblem, sendAnswer } from './answer.js';
import { Pipelines } from './pipelines.js';
import { type Problem, ProblemError } from './problem.js';
import { problems } from './problems.js';
import { rawProblemResponse } from './raw-response.js';
import { type SocketTimeouts, usualSocketTimeouts } from './socket-timeouts.js';

/** Enough to name a thousand UUIDs in a query. Memory for it is taken only where a client sends that much. */
const MAXIMUM_HEADER_BYTES = 64 * 1024;

/** The certificates of a server, and new ones while it runs. */
export interface CertificateSource {
  options(): TlsOptions;
  keepCurrent(server: { setSecureContext(options: SecureContextOptions): void }): void;
}

export interface HttpServerOptions {
  readonly handle: RequestListener;
  readonly maximumConnections: number;
  readonly timeouts?: SocketTimeouts;
  /** For HTTPS. */
  readonly certificates?: CertificateSource | undefined;
  /** Sees a server of plain HTTP before it listens; HTTPS does without. */
  readonly accelerate?: ((server: Server) => void) | undefined;
}

/** A port that speaks HTTP. Requests that node:http refuses get a problem as their answer too. */
export class HttpServer {
  readonly #server: Server;

  constructor({ handle, maximumConnections, timeouts, certificates, accelerate }: HttpServerOptions) {
    const options = serverOptions(timeouts ?? usualSocketTimeouts);
    const pipelines = new Pipelines(handle);
    if (certificates === undefined) {
      this.#server = createServer(options, pipelines.handle);
      accelerate?.(this.#server);
    } else {
      const server = createSecureServer({ ...certificates.options(), ...options }, pipelines.handle);
      certificates.keepCurrent(server);
      this.#server = server;
    }
    this.#server.maxConnections = maximumConnections;
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // The answer to the request that said so ends the connection.
      if (error.code === BEHIND_CLOSE) return;
      const problem = problemOf(error);
      if (problem === undefined) socket.destroy();
      else pipelines.refuseAfter(socket, () => refuse(problem, socket));
    });
    this.#server.on('checkExpectation', (_request, response) =>
      sendAnswer(response, answerOfProblem(new ProblemError(problems.expectation_failed))),
    );
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.removeListener('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function serverOptions({ headersTimeoutMs, requestTimeoutMs, ...others }: SocketTimeouts): ServerOptions {
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: others.keepAliveTimeoutMs,
    connectionsCheckingInterval: others.checkIntervalMs,
    maxHeaderSize: MAXIMUM_HEADER_BYTES,
    // The handler checks it, so that the refusal is a problem like any other.
    requireHostHeader: false,
  };
}

/** Once it is refused, a client gets this long to read the answer and close. */
const LINGER_MS = 1000;

/** Bytes came behind a request with `Connection: close`. */
const BEHIND_CLOSE = 'HPE_CLOSED_CONNECTION';

function refuse(problem: Problem, socket: Socket & { _httpMessage?: ServerResponse }): void {
  // Bytes of a client that has its answer and still sends.
  if (socket.writableEnded) return;
  // Nothing may follow the beginning of an answer that is on its way.
  const isAnswering = socket._httpMessage?.headersSent === true;
  if (!socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  socket.end(rawProblemResponse(new ProblemError(problem), 'Connection: close\r\n'));
  // Closed at once, with bytes of the client unread, the system would reset the connection and the answer could be
  // lost.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Undefined where the connection failed, or its TLS handshake: there is no request to answer. */
function problemOf({ code = '' }: NodeJS.ErrnoException): Problem | undefined {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problems.headers_too_large;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return problems.body_too_large;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problems.request_timeout;
    default:
      return code.startsWith('HPE_') ? problems.malformed_request : undefined;
  }
}
