import type { ServerHttp2Stream } from 'node:http2';
import type { MessageError } from './message-reader.js';
import { Http2PeerStream, type PeerStreamOptions } from './peer-stream.js';
import { CONTENT_TYPE, statusHeaders } from './protocol.js';
import { GrpcStatus } from './status.js';

/** The listening side of a stream: it ends with trailers that carry a status. */
export class AcceptedStream extends Http2PeerStream {
  readonly isDialed = false;
  private trailers = statusHeaders(GrpcStatus.ok, '');

  constructor(stream: ServerHttp2Stream, options: PeerStreamOptions) {
    super(stream, options);
    stream.on('wantTrailers', () => stream.sendTrailers(this.trailers));
    stream.respond({ ':status': 200, 'content-type': CONTENT_TYPE }, { waitForTrailers: true });
  }

  protected endHalf(status: GrpcStatus, message: string): void {
    this.trailers = statusHeaders(status, message);
    this.stream.end();
  }

  protected reject(error: MessageError): void {
    this.end(error.status, error.message);
  }
}
