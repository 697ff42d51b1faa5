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

  /** Events: `command` (timed one by one), `fast-command` (a whole turn), `expire-cycle`. */
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

  /** Deletes the named events, or all; returns the names of those that existed. */
  reset(names?: readonly string[]): string[] {
    return (names ?? [...this.events.keys()]).filter((name) => this.events.delete(name));
  }
}

/** Merges the events of several lanes. */
export function mergeLatency(lanes: readonly (readonly LatencyEvent[])[]): LatencyEvent[] {
  const merged = new LatencyMonitor();
  const maxima = new Map<string, number>();
  const samples = lanes.flatMap((events) =>
    events.flatMap(({ name, samples, maximumMs }) => {
      maxima.set(name, Math.max(maxima.get(name) ?? 0, maximumMs));
      return samples.map(([atSeconds, milliseconds]) => ({ name, atSeconds, milliseconds }));
    }),
  );
  samples.sort((a, b) => a.atSeconds - b.atSeconds);
  for (const { name, atSeconds, milliseconds } of samples) merged.record(name, atSeconds * 1000, milliseconds);
  return merged.all().map((event) => ({ ...event, maximumMs: maxima.get(event.name) ?? event.maximumMs }));
}
