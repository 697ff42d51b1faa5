/** What can go wrong, by class: the server said no, the connection could not carry the command, or the caller gave up. */
export class QuotadbError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server's own error reply. Nothing was changed. */
export class ReplyError extends QuotadbError {
  /** The first word, by which errors are told apart: ERR, OOM, NOAUTH, … */
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.code = message.split(' ', 1)[0]!;
  }
}

/**
 * The command was not carried out to the end of a round trip. `isSent` says whether the server may have run it: where it is
 * false, the command can be sent again without counting twice.
 */
export class ConnectionError extends QuotadbError {
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSent = isSent;
  }
}

export class TimeoutError extends ConnectionError {}
