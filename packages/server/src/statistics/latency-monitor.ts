/** One event's history: [when in seconds, how long in milliseconds], oldest first. */
export interface LatencyEvent {
  readonly name: string;
  readonly samples: readonly (readonly [atSeconds: number, milliseconds: number])[];
  readonly maximumMs: number;
}

/** Events that took at least latency-monitor-threshold milliseconds, for LATENCY. */
export class LatencyMonitor {
  static readonly MAXIMUM_SAMPLES = 160;

  private readonly events = new Map<string, { samples: [number, number][]; maximumMs: number }>();

  /** Events: `command` (timed one by one), `fast-command` (a whole batch), `expire-cycle`. */
  record(name: string, nowMs: number, milliseconds: number): void {
    const atSeconds = Math.floor(nowMs / 1000);
    const event = this.events.get(name) ?? { samples: [], maximumMs: 0 };
    this.events.set(name, event);
    event.maximumMs = Math.max(event.maximumMs, milliseconds);
    const last = event.samples.at(-1);
    if (last !== undefined && last[0] === atSeconds) {
      last[1] = Math.max(last[1], milliseconds);
      return;
    }
    event.samples.push([atSeconds, milliseconds]);
    if (event.samples.length > LatencyMonitor.MAXIMUM_SAMPLES) event.samples.shift();
  }

  all(): LatencyEvent[] {
    return [...this.events].map(([name, event]) => ({ name, ...event }));
  }

  event(name: string): LatencyEvent | undefined {
    const event = this.events.get(name);
    return event && { name, ...event };
  }

  /** Forgets the named events, or all; returns how many. */
  reset(names?: readonly string[]): number {
    const forgotten = (names ?? [...this.events.keys()]).filter((name) => this.events.delete(name));
    return forgotten.length;
  }
}
