import type { Request } from '@quotadb/wire';
import { Slowlog } from '../statistics/slowlog.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import type { ServerState } from './server-state.js';

/**
 * How long turns and commands take, for INFO, SLOWLOG and LATENCY. One per lane, whose sessions run one at a time.
 *
 * Reading the clock twice costs as much as a short command. So only commands whose cost grows with their arguments are
 * timed one by one; the others share the time of their turn. Of `turnsPerTiming` short turns (a power of two) one is
 * timed, and the others count as equally long; long turns are always timed.
 */
export class TurnTiming {
  /** Turns with more input than this are long. */
  static readonly LONG_TURN_BYTES = 4096;
  /** With a lower slow log threshold than this, every command is timed. */
  static readonly PRECISE_SLOWLOG_MICROSECONDS = 1000;

  /** The time of the commands of this turn that were timed one by one. */
  timedMicroseconds = 0;
  /** Whether the slow log asks for the time of every command, or a MONITOR for every command. */
  timesEvery = false;
  private timedCount = 0;
  private turns = 0;
  private isTimed = false;
  private startedAtMs = 0;
  private readonly server: ServerState;
  private readonly turnsPerTiming: number;

  constructor(server: ServerState, turnsPerTiming: number) {
    this.server = server;
    this.turnsPerTiming = turnsPerTiming;
  }

  startTurn(inputBytes: number): void {
    const { clock, config, monitors } = this.server;
    this.isTimed = (this.turns++ & (this.turnsPerTiming - 1)) === 0 || inputBytes > TurnTiming.LONG_TURN_BYTES;
    if (this.isTimed) this.startedAtMs = clock.monotonic();
    this.timedCount = 0;
    this.timedMicroseconds = 0;
    const slowerThan = config.slowlogSlowerThanMicroseconds;
    this.timesEvery = (slowerThan >= 0 && slowerThan < TurnTiming.PRECISE_SLOWLOG_MICROSECONDS) || monitors.isOn;
  }

  /** Runs one command and records its time; `sent` is the request with the names that the client wrote. */
  run(entry: CommandEntry, call: Call, sent: Request): void {
    const { clock, config, statistics, latency, slowlog, monitors } = this.server;
    const { client } = call;
    const startedAtMs = clock.monotonic();
    entry.run!(call);
    if (monitors.isOn) monitors.show(entry, client, sent);
    const milliseconds = clock.monotonic() - startedAtMs;
    const microseconds = milliseconds * 1000;
    statistics.commands.countTimed(entry.id, microseconds);
    this.timedCount++;
    this.timedMicroseconds += microseconds;
    if (config.latencyThresholdMs > 0 && milliseconds >= config.latencyThresholdMs) {
      latency.record('command', clock.now(), Math.round(milliseconds));
    }
    const slowerThan = config.slowlogSlowerThanMicroseconds;
    // EXEC is left out: the commands in it are timed one by one.
    if (slowerThan < 0 || microseconds < slowerThan || entry.neverQueued) return;
    slowlog.add(
      {
        atSeconds: Math.floor(clock.now() / 1000),
        microseconds: Math.round(microseconds),
        words: Slowlog.words(sent, entry.secretsFrom),
        address: client.address,
        clientName: client.name,
      },
      config.slowlogMaximumLength,
    );
  }

  endTurn(nowMs: number): void {
    const { clock, config, statistics, latency } = this.server;
    if (!this.isTimed) {
      statistics.commandsProcessed += statistics.commands.endUntimedTurn() + this.timedCount;
      return;
    }
    const microseconds = (clock.monotonic() - this.startedAtMs) * 1000;
    const shared = Math.max(microseconds - this.timedMicroseconds, 0);
    const sharing = statistics.commands.endTurn(shared);
    statistics.commandsProcessed += sharing + this.timedCount;
    statistics.recordTurn(microseconds);
    if (config.latencyThresholdMs > 0 && sharing > 0 && shared >= config.latencyThresholdMs * 1000) {
      latency.record('fast-command', nowMs, Math.round(shared / 1000));
    }
  }
}
