import { ByteInput, type Engine } from '@quotadb/engine';
import { ReplyWriter, RequestParser } from '@quotadb/wire';
import type { Client } from './client.js';
import { DatabaseRequest } from './databases.js';
import { ForeignClients } from './foreign-clients.js';
import { Pipeline } from './pipeline.js';
import type { ServerState } from './server-state.js';
import { TurnTiming } from './turn-timing.js';

/**
 * The buffers that the sessions of one thread share, so that a connection costs none of its own: sessions run one at a
 * time, and leave only their replies behind.
 */
export class Lane {
  /** The maximum of one read, the same as in node:net. */
  static readonly READ_BYTES = 64 * 1024;
  /** Room in front of it for the rest of the read before; a connection with more uses a buffer of its own. */
  static readonly STAGED_BYTES = 64 * 1024;

  readonly engine: Engine;
  readonly server: ServerState;
  readonly parser: RequestParser;
  readonly pipeline: Pipeline;
  readonly input = new ByteInput(new Uint8Array(Lane.STAGED_BYTES + Lane.READ_BYTES + ByteInput.SLACK_BYTES));
  readonly databaseRequest = new DatabaseRequest();
  /** Replies of the session that ran last, behind those of connections whose replies leave together (outbox.ts). */
  readonly reply = new ReplyWriter();
  /** Where the replies of the session that ran last begin. */
  repliesFrom = 0;
  /** Logs an error that a command threw. */
  readonly reportFault: (error: unknown, client: Client) => void;
  readonly foreignClients: ForeignClients;
  readonly timing: TurnTiming;
  readonly maximumBulkBytes: number;
  private changesTaken = 0;
  /** Replies to changes wait for the disk or for other servers. */
  private readonly holdsReplies: boolean;

  constructor(options: {
    engine: Engine;
    server: ServerState;
    maximumBulkBytes: number;
    reportFault: (error: unknown, client: Client) => void;
    warn: (text: string) => void;
    turnsPerTiming?: number;
  }) {
    this.engine = options.engine;
    this.server = options.server;
    this.holdsReplies = options.server.disk.isOn || options.server.replication.held !== undefined;
    this.maximumBulkBytes = options.maximumBulkBytes;
    const { engine, server, maximumBulkBytes } = options;
    this.parser = new RequestParser({ maximumBulkBytes });
    this.pipeline = new Pipeline(this.parser, maximumBulkBytes, engine, server.commands.index);
    this.reportFault = options.reportFault;
    this.foreignClients = new ForeignClients(options.server.clock, options.warn);
    this.timing = new TurnTiming(options.server, options.turnsPerTiming ?? 1);
  }

  /**
   * A session begins to run: what other users of this engine have changed before is not acknowledged by its replies.
   */
  beginTurn(): void {
    if (this.holdsReplies) this.changesTaken = this.engine.changes;
  }

  /**
   * Whether the replies at hand acknowledge a change that others must have first; called once per turn with replies.
   */
  mustHoldReplies(): boolean {
    if (!this.holdsReplies) return false;
    const { changes } = this.engine;
    const isMarked = this.server.replication.held?.takeMark() === true;
    if (changes === this.changesTaken && !isMarked) return false;
    this.changesTaken = changes;
    return true;
  }
}
