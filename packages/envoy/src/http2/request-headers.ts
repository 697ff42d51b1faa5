/** What the door needs of a request's header fields; others are not kept. */
export class RequestHeaders {
  method = '';
  path = '';
  contentType: string | undefined = undefined;
  encoding: string | undefined = undefined;
  timeout: string | undefined = undefined;
  authorization: string | undefined = undefined;

  take(name: string, value: string): void {
    switch (name) {
      case ':method':
        this.method = value;
        break;
      case ':path':
        this.path = value;
        break;
      case 'content-type':
        this.contentType = value;
        break;
      case 'grpc-encoding':
        this.encoding = value;
        break;
      case 'grpc-timeout':
        this.timeout = value;
        break;
      case 'authorization':
        this.authorization = value;
        break;
    }
  }
}
