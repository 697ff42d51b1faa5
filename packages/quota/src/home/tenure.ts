import { type Policy, reachMs, windowStartMs } from '../policies/policy.js';
import type { PolicyBookOptions, SavedBook } from './book-options.js';

type SavedTenure = Pick<SavedBook, 'incarnation' | 'beganMs' | 'startsFromMs' | 'heldFromMs' | 'isSuspended'>;

/**
 * Since when this incarnation has its region's name, and so which allotments it may start with its share.
 *
 * An allocator that lost its memory must not give the limit out a second time. So an incarnation of a region starts an
 * allotment with its share only where no earlier incarnation can have done so: the window began after this incarnation,
 * with room for clocks that differ; or the home saw this incarnation when it defined the policy.
 */
export class Tenure {
  private readonly options: Pick<PolicyBookOptions, 'region' | 'incarnation' | 'skewBoundMs'>;
  private beganMs: number;
  private startsFromMs: number;
  private heldFromMs: number;
  private isSuspended = false;
  /** The book of this very incarnation was on disk: what the process before this one did with tokens is known. */
  readonly isContinued: boolean;

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, incarnation, isNewIncarnation, nowMs, skewBoundMs } = options;
    const own = saved?.incarnation === incarnation ? saved : undefined;
    this.isContinued = own !== undefined;
    this.beganMs = own?.beganMs ?? nowMs;
    const hasLostFile = saved === undefined && !isNewIncarnation;
    this.startsFromMs = own?.startsFromMs ?? (hasLostFile ? nowMs + skewBoundMs : 0);
    this.heldFromMs = own?.isSuspended ? nowMs : (own?.heldFromMs ?? 0);
  }

  get saved(): SavedTenure {
    const { beganMs, startsFromMs, heldFromMs, isSuspended } = this;
    const held = { ...(heldFromMs > 0 && { heldFromMs }), ...(isSuspended && { isSuspended }) };
    return { incarnation: this.options.incarnation, beganMs, startsFromMs, ...held };
  }

  /** Another server runs under the name of this region: until `resume` this one starts no allotment. True if new. */
  suspend(): boolean {
    const isNew = !this.isSuspended;
    this.isSuspended = true;
    return isNew;
  }

  /**
   * The name is this server's. It starts the allotments of windows that begin from now on, as a new incarnation does.
   * True where it was suspended.
   */
  resume(nowMs: number): boolean {
    if (!this.isSuspended) return false;
    this.isSuspended = false;
    this.heldFromMs = nowMs;
    return true;
  }

  /** Whether this incarnation may hold its share of an allotment as it begins. */
  mayStart(policy: Policy, window: number): boolean {
    const { region, incarnation, skewBoundMs } = this.options;
    if (this.isSuspended) return false;
    if (windowStartMs(policy, window) < (policy.startsFromMs ?? Number.NEGATIVE_INFINITY)) return false;
    const isStarter = policy.starters.some(
      (starter) => starter.region === region && starter.incarnation === incarnation,
    );
    // Only one incarnation is ever the starter of a quota without a window; all windows of others come again.
    const isHeld = policy.windowMs === 0 || policy.definedMs >= this.heldFromMs;
    if (isStarter && policy.definedMs >= this.startsFromMs && isHeld) return true;
    const fromMs = Math.max(this.beganMs, this.heldFromMs);
    return windowStartMs(policy, window) >= fromMs + skewBoundMs + reachMs(policy, skewBoundMs);
  }

  /**
   * Whether this incarnation may admit tokens alone: in windows that began after it, so that no earlier one has done
   * so, and while no other server runs under its name.
   */
  mayAdmit(policy: Policy, window: number): boolean {
    const fromMs = Math.max(this.beganMs, this.heldFromMs, policy.startsFromMs ?? 0);
    return !this.isSuspended && windowStartMs(policy, window) >= fromMs + this.options.skewBoundMs;
  }

  /** The clock was far ahead, and is right again: dates that it gave are dates of now. */
  dateAnew(nowMs: number): void {
    this.beganMs = Math.min(this.beganMs, nowMs);
    this.startsFromMs = Math.min(this.startsFromMs, nowMs);
    this.heldFromMs = nowMs;
  }
}
