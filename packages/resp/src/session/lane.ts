import { ByteInput, type Engine } from '@quotadb/engine';
import { ReplyWriter, RequestParser } from '@quotadb/wire';
import type { Client } from './client.js';
import type { ServerState } from './server-state.js';

/**
 * What the sessions of one thread share, so that a connection costs no buffers of its own: they run one at a time, and
 * each leaves nothing behind but its replies.
 */
export class Lane {
  /** The most that one read brings; as much as node:net reads at once. */
  static readonly READ_BYTES = 64 * 1024;
  /** Room in front of it for what the read before left over; a connection with more works in a buffer of its own. */
  static readonly STAGED_BYTES = 64 * 1024;

  readonly engine: Engine;
  readonly server: ServerState;
  readonly parser: RequestParser;
  readonly input = new ByteInput(new Uint8Array(Lane.STAGED_BYTES + Lane.READ_BYTES + ByteInput.SLACK_BYTES));
  /** Replies of the session that ran last; whoever carries them takes them before another runs. */
  readonly reply = new ReplyWriter();
  /** Told of errors that no command should throw. */
  readonly reportFault: (error: unknown, client: Client) => void;
  /** Of so many short turns one is timed; long ones always are. A power of two. */
  readonly turnsPerTiming: number;
  /** Turns so far, of all sessions. */
  turns = 0;
  private changesTaken = 0;

  constructor(options: {
    engine: Engine;
    server: ServerState;
    maximumBulkBytes: number;
    reportFault: (error: unknown, client: Client) => void;
    turnsPerTiming?: number;
  }) {
    this.engine = options.engine;
    this.server = options.server;
    this.parser = new RequestParser({ maximumBulkBytes: options.maximumBulkBytes });
    this.reportFault = options.reportFault;
    this.turnsPerTiming = options.turnsPerTiming ?? 1;
  }

  /** Whether the replies at hand tell of a change that must be on disk first; asked once for each turn's replies. */
  mustHoldReplies(): boolean {
    if (!this.server.disk.holdsReplies) return false;
    const { changes } = this.engine;
    if (changes === this.changesTaken) return false;
    this.changesTaken = changes;
    return true;
  }
}
