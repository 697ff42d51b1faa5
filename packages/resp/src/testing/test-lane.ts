import { type Configuration, defaultConfiguration } from '@quotadb/config';
import { Engine, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { commands } from '../command-table/commands.js';
import { createState, type Surroundings } from '../lanes/create-state.js';
import type { Client, ClientConnection } from '../session/client.js';
import type { Command } from '../session/command.js';
import { Lane } from '../session/lane.js';
import { Session } from '../session/session.js';
import { ManualClock } from './manual-clock.js';

const TEST_MEMORY_BYTES = 16 * 1024 * 1024;
const TEST_SHARDS = 4;

/** Sessions without a network and with a clock of their own. */
export class TestLane {
  readonly clock = new ManualClock();
  readonly config: Configuration;
  readonly lane: Lane;
  /** Errors that commands threw. */
  readonly faults: unknown[] = [];
  readonly warnings: string[] = [];

  /** Lanes of different nodes have different `originByte`s. */
  constructor(
    settings: Partial<Configuration> = {},
    extraCommands: readonly Command[] = [],
    originByte = 1,
    surroundings: Surroundings = {},
  ) {
    this.config = { ...defaultConfiguration(), ...settings };
    this.lane = new Lane({
      engine: Engine.format({
        maxMemoryBytes: settings.maxMemoryBytes ?? TEST_MEMORY_BYTES,
        shardCount: settings.shardCount ?? TEST_SHARDS,
        growOnlyPrefixes: this.config.growOnlyPrefixes,
        origin: new Uint8Array(ORIGIN_ID_BYTES).fill(originByte),
        nowMs: this.clock.nowMs,
      }),
      server: createState(this.config, this.clock, {
        commands: [...commands, ...extraCommands],
        ...surroundings,
      }),
      maximumBulkBytes: 512 * 1024 * 1024,
      reportFault: (error) => this.faults.push(error),
      warn: (text) => this.warnings.push(text),
    });
  }

  open(): TestSession {
    return new TestSession(this.lane);
  }
}

/** One connection, whose input and replies are latin1 text. */
export class TestSession implements ClientConnection {
  readonly session: Session;
  readonly client: Client;
  readonly pendingBytes = 0;
  destroyed = false;
  private woken = false;

  private readonly lane: Lane;

  constructor(lane: Lane) {
    this.lane = lane;
    const { clients, clock, access } = lane.server;
    this.client = clients.add({
      address: `192.0.2.1:${1000 + clients.count}`,
      localAddress: '192.0.2.2:6380',
      nowMs: clock.now(),
      connection: this,
      user: access.newcomer(),
    });
    this.session = new Session(lane, this.client);
  }

  destroy(): void {
    this.destroyed = true;
    this.lane.server.clients.remove(this.client);
  }

  /** A single lane answers its own question at once, before the session has begun to wait. */
  wake(): void {
    this.woken = true;
  }

  /** Sends these bytes and takes the replies, of all the turns it takes to make them. */
  send(bytes: string | Uint8Array): string {
    this.session.receive(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    let replies = this.take();
    while (this.session.hasMore || this.woken) replies += this.resume();
    return replies;
  }

  /** Sends one command. */
  call(...words: (string | number)[]): string {
    return this.send(encodeCommand(...words));
  }

  resume(): string {
    this.woken = false;
    this.session.resume();
    return this.take();
  }

  private take(): string {
    const { reply } = this.lane;
    const text = Buffer.from(reply.bytes.subarray(0, reply.length)).toString('latin1');
    reply.reset();
    return text;
  }
}

/** A command as clients send it, in latin1. */
export function encodeCommand(...words: (string | number)[]): string {
  const bulks = words.map((word) => `$${String(word).length}\r\n${word}\r\n`);
  return `*${words.length}\r\n${bulks.join('')}`;
}
