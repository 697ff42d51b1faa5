import { Need } from '@quotadb/config';
import type { ReplyWriter, Request } from '@quotadb/wire';
import type { Clock } from '../time/clock.js';
import { microsecondsOf } from '../time/microseconds.js';
import type { Client } from './client.js';
import type { CommandEntry } from './command-index.js';
import type { Lanes } from './questions.js';

/** Commands that one lane has run, as MONITOR shows them: plain data, sent between threads. */
export interface MonitoredCommands {
  readonly lines: string;
  /** Commands that did not fit. */
  readonly left: number;
}

/** The lines that wait to be sent, or shown by one client. A client that reads too slowly misses commands. */
const MAXIMUM_PENDING_CHARACTERS = 1024 * 1024;
/** Lines of another lane are collected for this long: each message passes through the main thread. */
const SEND_INTERVAL_MS = 20;
/** An argument is shown up to here; a slow log shows less. */
const MAXIMUM_SHOWN_BYTES = 1024;
const MAXIMUM_SHOWN_ARGUMENTS = 64;

/** Lines that wait, up to a bound; past it they are counted. */
export class Feed {
  private text = '';
  private left = 0;

  get isEmpty(): boolean {
    return this.text === '' && this.left === 0;
  }

  add({ lines, left }: MonitoredCommands): void {
    this.left += left;
    if (this.left === 0 && this.text.length + lines.length <= MAXIMUM_PENDING_CHARACTERS) this.text += lines;
    else this.left += lines.split('\n').length - 1;
  }

  take(): MonitoredCommands {
    const taken = { lines: this.text, left: this.left };
    this.text = '';
    this.left = 0;
    return taken;
  }

  /** As simple strings; a client that has not taken the last ones yet gets the number of those it misses, later. */
  writeTo(reply: ReplyWriter, pendingBytes: number): void {
    if (pendingBytes > MAXIMUM_PENDING_CHARACTERS) return;
    const { lines, left } = this.take();
    for (const line of lines.split('\n')) if (line !== '') reply.simple(line);
    if (left > 0) reply.simple(`... ${left} commands are left out: this client reads too slowly`);
  }
}

/**
 * MONITOR: the commands of all lanes, shown to the clients that ask for them. While there is no such client on any
 * lane, nothing here is called; see TurnTiming.
 */
export class Monitors {
  /** Whether a client of any lane monitors. */
  isOn = false;
  private readonly here = new Set<Client>();
  /** The clients that monitor, by lane; of the others. */
  private readonly elsewhere = new Map<number, number>();
  private readonly outgoing = new Feed();
  private sentAtMs = 0;
  private readonly lanes: Lanes;
  private readonly clock: Clock;

  constructor(lanes: Lanes, clock: Clock) {
    this.lanes = lanes;
    this.clock = clock;
  }

  add(client: Client): void {
    client.feed = new Feed();
    client.setState(Need.noMonitor, true);
    client.stopMonitoring = () => {
      client.feed = undefined;
      client.stopMonitoring = undefined;
      client.setState(Need.noMonitor, false);
      this.here.delete(client);
      this.announce();
    };
    this.here.add(client);
    this.announce();
  }

  /** The number of clients of another lane that monitor. */
  note(lane: number, count: number): void {
    if (count === 0) this.elsewhere.delete(lane);
    else this.elsewhere.set(lane, count);
    this.isOn = this.here.size > 0 || this.elsewhere.size > 0;
  }

  /** A command has run. As in Redis, those of administrators are not shown. */
  show(entry: CommandEntry, client: Client, request: Request): void {
    if (entry.command.flags.includes('admin')) return;
    const seconds = (microsecondsOf(this.clock) / 1e6).toFixed(6);
    const where = `${Math.max(client.database, 0)} ${client.address}`;
    const commands = { lines: `${seconds} [${where}] ${shownWords(request, entry.secretsFrom)}\n`, left: 0 };
    this.feedHere(commands);
    if (this.elsewhere.size === 0) return;
    this.outgoing.add(commands);
    if (this.clock.monotonic() - this.sentAtMs >= SEND_INTERVAL_MS) this.send();
  }

  /** Commands of another lane. */
  feedHere(commands: MonitoredCommands): void {
    for (const client of this.here) {
      client.feed?.add(commands);
      client.connection.wake();
    }
  }

  /** Sends the last lines of a burst; called every tick. */
  send(): void {
    if (this.outgoing.isEmpty) return;
    this.sentAtMs = this.clock.monotonic();
    this.lanes.notifyOthers('monitored', this.outgoing.take());
  }

  private announce(): void {
    this.isOn = this.here.size > 0 || this.elsewhere.size > 0;
    this.lanes.notifyOthers('monitoring', { lane: this.lanes.index, count: this.here.size });
  }
}

const decoder = new TextDecoder('latin1');

function shownWords({ input, argumentStart, argumentLength, argumentCount }: Request, secretsFrom: number): string {
  const words: string[] = [];
  for (let index = 0; index < Math.min(argumentCount, MAXIMUM_SHOWN_ARGUMENTS); index++) {
    const shown = Math.min(argumentLength[index], MAXIMUM_SHOWN_BYTES);
    const bytes = input.bytes.subarray(argumentStart[index], argumentStart[index] + shown);
    words.push(index < secretsFrom ? quoted(decoder.decode(bytes)) : '"(redacted)"');
  }
  return words.join(' ');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\x07': '\\a',
  '\b': '\\b',
};

/** As Redis quotes a word: bytes that are not printable ASCII in hexadecimal. */
function quoted(text: string): string {
  let inside = '';
  for (const byte of text) {
    const isPrinted = byte >= ' ' && byte <= '~' && byte !== '"' && byte !== '\\';
    inside += isPrinted ? byte : (ESCAPES[byte] ?? `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  }
  return `"${inside}"`;
}
