import { type Refused, unreplicated } from '@quotadb/resp';

interface PolicyCopiesOptions {
  /** How many other servers must hold a change before it is acknowledged; 0 = none (--replicate-before-reply). */
  readonly servers: number;
  readonly timeoutMs: number;
  /** Of the policies that the servers with a link to this one hold. */
  readonly versions: () => readonly number[];
}

/** Changes of policies that wait until other servers hold them: policies travel apart from the counters. */
export class PolicyCopies {
  private readonly options: PolicyCopiesOptions;
  private readonly waiting = new Set<() => void>();

  constructor(options: PolicyCopiesOptions) {
    this.options = options;
  }

  /** Resolves when enough servers hold this version, or a later one; with the reason where they do not in time. */
  async whenHeld(version: number): Promise<Refused | undefined> {
    const { servers, timeoutMs, versions } = this.options;
    const areEnough = () => versions().filter((held) => held >= version).length >= servers;
    if (areEnough()) return undefined;
    return new Promise((resolve) => {
      const end = (refused: Refused | undefined) => {
        clearTimeout(timer);
        this.waiting.delete(check);
        resolve(refused);
      };
      const check = () => {
        if (areEnough()) end(undefined);
      };
      const timer = setTimeout(() => end(unreplicated(servers, timeoutMs)), timeoutMs);
      this.waiting.add(check);
    });
  }

  /** A server has reported the version that it holds. */
  check(): void {
    for (const check of this.waiting) check();
  }
}
