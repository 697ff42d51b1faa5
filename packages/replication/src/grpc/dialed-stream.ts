import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { MessageError } from './message-reader.js';
import { Http2PeerStream, type PeerStreamOptions } from './peer-stream.js';
import { errorOfStatus, type GrpcStatus } from './status.js';
import { TransportError } from './transport-error.js';

/** The dialing side of a stream: it gets a status at the end, and can only end its own half. */
export class DialedStream extends Http2PeerStream {
  readonly isDialed = true;
  private hasStatus = false;

  constructor(stream: ClientHttp2Stream, options: PeerStreamOptions) {
    super(stream, options);
    stream.on('trailers', (headers: IncomingHttpHeaders) => {
      this.hasStatus = 'grpc-status' in headers;
      const error = this.hasStatus ? errorOfStatus(headers) : undefined;
      if (error !== undefined) this.note(error);
    });
  }

  protected endHalf(_status: GrpcStatus, _message: string): void {
    this.stream.end();
  }

  protected reject(error: MessageError): void {
    this.abort(error);
  }

  protected override beforeOver(): void {
    if (!this.hasStatus) this.note(new TransportError('ended', 'the stream ended without a status'));
  }
}
