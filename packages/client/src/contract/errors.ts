/** The base of every error of this package. */
export class QuotadbError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server's own error reply. The command changed nothing. */
export class ReplyError extends QuotadbError {
  /** The first word of the message, which names the kind of error: ERR, OOM, NOAUTH, … */
  readonly code: string;
  /** The name of the refused command, never its words; undefined for an error inside a reply, as in that of EXEC. */
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.code = message.split(' ', 1)[0]!;
    this.command = command;
  }
}

/**
 * The command got no reply. `isSent` says whether the server may have run it: where it is false, the command can be
 * sent again without counting twice.
 */
export class ConnectionError extends QuotadbError {
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSent = isSent;
  }
}

export class TimeoutError extends ConnectionError {}
