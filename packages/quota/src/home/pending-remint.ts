import { type Comparison, nameOfOrigin } from '@quotadb/replication';
import type { Policy } from '../policies/policy.js';
import { PolicyError } from '../policies/policy-set.js';
import type { Lost } from './inheritance.js';
import { describeLost, findLost, type HomeView } from './lost-incarnations.js';

/**
 * How long a re-mint waits for other regions, at most: longer than a link that falls silent is kept, because a region
 * does not answer while something may still come over one.
 */
export const REMINT_TIMEOUT_MS = 10_000;

export interface PendingRemintOptions {
  readonly view: () => HomeView;
  /** As it is now; throws a PolicyError where there is none, or this region is not the home. */
  readonly policy: () => Policy;
  /** The regions that an operator has given up as lost. */
  readonly regions: readonly string[];
  /** Resolves when the disk holds all changes so far. */
  readonly flush: () => Promise<void>;
}

/**
 * A re-mint gives again the tokens that lost incarnations held, counted by what they wrote. So it waits until
 *
 *   1  this region and all others hold the same changes of those incarnations, and of those that they had inherited
 *      from, and no more of them can come to any region (OriginComparison);
 *   2  the disk of this region holds them: else a crash would forget what the lost ones had spent or granted, and keep
 *      that their tokens are this region's.
 *
 * Then no remaining region holds, has spent or will receive a token of theirs that is given again. No region knows what
 * a lost incarnation did after the others last heard of it: that it spends nothing more, and that the takes of that
 * time do not matter, is the operator's word.
 */
export class PendingRemint {
  /** What it waits for, and what to do. */
  reason = 'the re-mint has not begun';
  private readonly options: PendingRemintOptions;
  /** The incarnations that were lost when the operator said so: one that is away only since then may come back. */
  private meant: string | undefined = undefined;
  /** What the disk holds of them for certain. */
  private flushed: string | undefined = undefined;
  private isFlushing = false;

  constructor(options: PendingRemintOptions) {
    this.options = options;
  }

  /**
   * The incarnations to inherit from, to be used at once; undefined while it has to wait. Throws where it is refused.
   */
  find(): readonly Lost[] | undefined {
    const { regions } = this.options;
    const policy = this.options.policy();
    const view = this.options.view();
    const lost = findLost(view, policy, regions);
    const names = lost.map(nameOfOrigin);
    this.meant ??= names.join();
    if (names.join() !== this.meant)
      throw new PolicyError(`${regions.join(' and ')}: other incarnations are lost than when you asked, ask again`);
    const before = (policy.inheritances ?? []).map(({ from }) => from).filter((from) => !names.includes(from));
    const compared = view.compare([...lost, ...before.map((from) => Uint8Array.from(Buffer.from(from, 'hex')))]);
    const { held } = compared;
    if (held === undefined) this.reason = reasonOf(compared, regions);
    else if (held === this.flushed) return describeLost(view.engine, policy, lost);
    else this.flush(held);
    return undefined;
  }

  private flush(held: string): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    this.reason = 'the disk of this region did not write in time what the lost regions had counted: try again';
    this.options.flush().then(
      () => {
        this.isFlushing = false;
        this.flushed = held;
      },
      () => {
        this.isFlushing = false;
      },
    );
  }
}

function reasonOf({ differing, unanswered }: Comparison, regions: readonly string[]): string {
  const lost = regions.join(' and ');
  if (differing.length > 0)
    return (
      `this region and ${differing.join(' and ')} do not hold the same of what ${lost} wrote: ` +
      'they compare and repair it within about a minute, try again then'
    );
  return (
    `${unanswered.join(' and ')} did not say what it holds of what ${lost} wrote: it answers when it has no link to ` +
    `${lost} and none that is silent, and from this release on. Try again`
  );
}
