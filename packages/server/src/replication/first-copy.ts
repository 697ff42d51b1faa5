import { systemMonotonicMs } from '@quotadb/resp';

/** How long a server without data waits for another member of its region to show what it has. */
const FIRST_LINK_MS = 10_000;

/** Another member of the region, as it is now. */
export interface FirstCopySource {
  readonly isLinked: boolean;
  /** Everything that it had at some moment since the start is here. */
  readonly isInStep: boolean;
  /** A copy of it may never end. */
  readonly isInTrouble: boolean;
}

/**
 * Whether a server that started without data has less than other members of its region. Once it has not, it never has.
 */
export class FirstCopy {
  private isDone: boolean;
  private readonly startedAtMs = systemMonotonicMs();

  constructor(isNeeded: boolean) {
    this.isDone = !isNeeded;
  }

  isRunning(sources: readonly FirstCopySource[]): boolean {
    if (this.isDone) return false;
    const linked = sources.filter(({ isLinked }) => isLinked);
    const isBehind = linked.some(({ isInStep, isInTrouble }) => !isInStep && !isInTrouble);
    const isWaiting = linked.length === 0 && systemMonotonicMs() - this.startedAtMs < FIRST_LINK_MS;
    this.isDone = !isBehind && !isWaiting;
    return !this.isDone;
  }
}
