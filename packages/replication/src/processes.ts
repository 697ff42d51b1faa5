import { isSameReplica } from './identity.js';

/** A process of an origin, and the last time, of the local monotonic clock, at which it ran for certain. */
export interface HeardProcess {
  readonly origin: string;
  /** 0 in reports of releases from before there were boot numbers. */
  readonly boot: number;
  readonly atMs: number;
}

/**
 * The processes that run as each origin, from their own reports and from those that peers pass on. Times are never too
 * late: a report was written after the last ping that it names, and a process ran for as long before as it says.
 */
export class Processes {
  private readonly heard = new Map<string, HeardProcess>();

  /** Forgets those that were heard before `forgetBeforeMs`. */
  note(process: HeardProcess, forgetBeforeMs: number): void {
    const name = nameOfProcess(process);
    if (process.atMs < forgetBeforeMs || process.atMs <= (this.heard.get(name)?.atMs ?? Number.NEGATIVE_INFINITY))
      return;
    for (const [other, { atMs }] of this.heard) if (atMs < forgetBeforeMs) this.heard.delete(other);
    this.heard.set(name, process);
  }

  /** The one that was heard last of an origin. */
  newestOf(origin: string): HeardProcess | undefined {
    let newest: HeardProcess | undefined;
    for (const process of this.heard.values())
      if (process.origin === origin && process.atMs > (newest?.atMs ?? Number.NEGATIVE_INFINITY)) newest = process;
    return newest;
  }

  /** Those of all incarnations of a replica. */
  ofReplica(origin: Uint8Array): HeardProcess[] {
    return [...this.heard.values()].filter((process) => isSameReplica(Buffer.from(process.origin, 'hex'), origin));
  }
}

function nameOfProcess({ origin, boot }: { readonly origin: string; readonly boot: number }): string {
  return `${origin}:${boot}`;
}
