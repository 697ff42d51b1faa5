import type { Engine } from '@quotadb/engine';
import {
  type Catalogue,
  type CatalogueChange,
  type DecideRequest,
  Decider,
  type Decision,
  type DecisionRefusal,
  type Item,
  isRefusal,
  readCatalogue,
  readLimit,
  wantsLease,
} from '@quotadb/limits';
import { PolicyError } from '@quotadb/quota';
import {
  errors,
  type LaneCluster,
  type LeaseOfCheck,
  type LimitAnswer,
  type LimitCheck,
  type LimitRequest,
  LimitStatistics,
  type QuotaAnswer,
  type QuotaRequest,
  type Refused,
  type ServerState,
} from '@quotadb/resp';
import type { Logger } from 'pino';
import type { TokenSource } from '../quotas/service.js';

export interface LimitServiceOptions {
  readonly engine: Engine;
  readonly state: ServerState;
  readonly logger: Logger;
  /** Undefined before quotas have started and after they have stopped. */
  readonly tokenSource: () => TokenSource | undefined;
  readonly askQuotas: (request: QuotaRequest, answered: (answer: QuotaAnswer) => void) => void;
  /** Resolves when every thread locks the shards: from then on the main thread may change keys too. */
  readonly share: () => Promise<void>;
  /** Resolves when all changes made so far are as safe as this server promises before it answers. */
  readonly whenSafe: () => Promise<Refused | undefined>;
}

/** Why a change of the catalogue was not made, or where it does not hold yet. */
export type CatalogueRefusal = Extract<QuotaAnswer, { readonly error: string }>;

const NOT_RUNNING = 'the server is starting or stopping: try again soon';

/** Decisions on limits for callers on the main thread (HTTP, gRPC), and for lanes that cannot decide alone. */
export class LimitService {
  /** Decisions of the main thread; lanes count their own. */
  readonly statistics: LimitStatistics;
  private readonly options: LimitServiceOptions;
  private decider: Decider | undefined = undefined;

  constructor(options: LimitServiceOptions) {
    this.options = options;
    this.statistics = new LimitStatistics(() => options.state.clock.monotonic());
  }

  /** The catalogue as this region has it. */
  get catalogue(): Catalogue {
    return this.options.state.limits.resolution.catalogue;
  }

  get cluster(): LaneCluster | undefined {
    return this.options.state.cluster;
  }

  askQuotas(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    const { askQuotas, state } = this.options;
    const subject = 'subject' in request ? request.subject : undefined;
    if (subject === undefined || state.cluster === undefined) {
      askQuotas(request, answered);
      return;
    }
    const ask = async (): Promise<QuotaAnswer> => {
      const elsewhere = state.cluster?.findElsewhere(subject);
      return elsewhere === undefined ? new Promise((resolve) => askQuotas(request, resolve)) : { error: elsewhere };
    };
    void this.here(subject, ask).then(answered);
  }

  /** For callers that are not lanes: waits for a slot that is on its way, and one that is to go waits for this. */
  private async here<Answer>(subject: Uint8Array, work: () => Promise<Answer>): Promise<Answer | { error: string }> {
    const { cluster } = this.options.state;
    if (cluster === undefined) return work();
    if (!(await cluster.whenThere(subject))) return { error: 'its slot is on its way to another group: try again' };
    const leave = cluster.enter(subject);
    return work().finally(leave);
  }

  /** Answers a request of a lane. */
  ask(request: LimitRequest, answered: (answer: LimitAnswer) => void): void {
    const failed = (error: Error) => {
      this.options.engine.releaseLocks();
      this.options.logger.error({ err: error }, 'a request about limits failed and was given up');
      answered({ error: 'internal error' });
    };
    this.answer(request).then(answered, failed);
  }

  /** Checks a limit or a domain of the catalogue. */
  check(asked: LimitCheck): Promise<LimitAnswer> {
    return this.here(asked.subject, () => this.checkBegun(asked));
  }

  private async checkBegun({ name, subject, cost, waitMs, isPeek, lease }: LimitCheck): Promise<LimitAnswer> {
    const { state } = this.options;
    const { resolution } = state.limits;
    const target = resolution.find(name);
    if (target === undefined) return { error: bare(errors.limitUnknown(name)) };
    const elsewhere = state.cluster?.findElsewhere(subject);
    if (elsewhere !== undefined) return { error: elsewhere };
    const items = resolution.itemsOf(target, subject, cost, state.clock.now(), lease);
    if (!isPeek && lease === undefined && items.some(wantsLease)) return { error: bare(errors.limitIsLeased(name)) };
    const answer = await this.decide({ items, waitMs, isPeek });
    return isRefusal(answer) ? answer : { decision: answer };
  }

  /** Ends the leases that a check has taken in this region; `changed` is false where it holds none. */
  release(asked: LeaseOfCheck): Promise<LimitAnswer> {
    return this.here(asked.subject, () => this.releaseBegun(asked));
  }

  private async releaseBegun({ name, subject, lease }: LeaseOfCheck): Promise<LimitAnswer> {
    const { engine, state, whenSafe } = this.options;
    const { resolution } = state.limits;
    const target = resolution.find(name);
    if (target === undefined) return { error: bare(errors.limitUnknown(name)) };
    const decider = await this.enter();
    if (decider === undefined) return { error: NOT_RUNNING };
    const changesBefore = engine.changes;
    const wasHeld = decider.release(resolution.leasesOf(target, subject, state.clock.now(), lease));
    const mustWait = engine.changes !== changesBefore || (wasHeld && state.replication.held !== undefined);
    return (mustWait ? await whenSafe() : undefined) ?? { changed: wasHeld };
  }

  /** Resolves when what was charged is as safe as this server promises before it answers. */
  async decide(request: DecideRequest): Promise<Decision | DecisionRefusal> {
    const { engine, state } = this.options;
    const { items, isPeek = false } = request;
    if (state.disk.refusesWrites && !isPeek) return { error: 'the disk has failed: nothing is counted' };
    const decider = await this.enter();
    if (decider === undefined) return { error: NOT_RUNNING };
    const changesBefore = engine.changes;
    const answer = await new Promise<Decision | DecisionRefusal>((resolve) => decider.decide(request, resolve));
    if (!isRefusal(answer) && !isPeek) this.statistics.note(items, answer);
    // Tokens of the local balance were marked before: spending them changes nothing, and the marks must be safe too.
    const spendsMarked = state.replication.held !== undefined && !isPeek && !isRefusal(answer) && answer.allowed;
    const mustWait = engine.changes !== changesBefore || spendsMarked;
    return (mustWait ? await this.options.whenSafe() : undefined) ?? answer;
  }

  /** A change of the catalogue, made by the home of policies; resolves with the reason where it is refused. */
  async change(change: CatalogueChange): Promise<CatalogueRefusal | undefined> {
    return this.askForChange(change, {});
  }

  /** The same for a file. In a cluster other groups take it over when they next compare. */
  async load(catalogue: Catalogue, isAtStart: boolean): Promise<string | undefined> {
    const isShared = !isAtStart && this.cluster !== undefined;
    const refusal = await this.askForChange({ replace: catalogue }, { isAtStart, ...(isShared && { isShared }) });
    return refusal?.error;
  }

  private async askForChange(
    change: CatalogueChange,
    source: { readonly isAtStart?: boolean; readonly isShared?: true },
  ): Promise<CatalogueRefusal | undefined> {
    const { askQuotas, logger } = this.options;
    const request: QuotaRequest = { kind: 'catalogue', change, ...source };
    const answer = await new Promise<QuotaAnswer>((resolve) => askQuotas(request, resolve));
    if ('error' in answer) return answer;
    logger.info({ change: Object.keys(change)[0] }, 'the catalogue of limits was changed');
    return undefined;
  }

  private async answer(request: LimitRequest): Promise<LimitAnswer> {
    if (request.kind === 'check') return this.checkBegun(request);
    if (request.kind === 'release') return this.releaseBegun(request);
    if (request.kind === 'chargeLate') return this.chargeLate(request.items);
    try {
      if (request.kind === 'load') return changed(await this.change({ replace: readCatalogue(request.text) }));
      if (request.kind === 'set') return changed(await this.change({ set: readLimit(request.text) }));
    } catch (error) {
      if (error instanceof PolicyError) return { error: error.message };
      throw error;
    }
    return this.drop(request.name);
  }

  /** Drops a limit; false where there is none. */
  async drop(name: string): Promise<LimitAnswer> {
    if (!this.catalogue.limits.some((entry) => entry.name === name)) return { changed: false };
    return changed(await this.change({ drop: name }));
  }

  private async chargeLate(items: readonly Item[]): Promise<LimitAnswer> {
    const decider = await this.enter();
    for (const item of items) decider?.chargeLate(item);
    return { changed: true };
  }

  /** The main thread is about to use the store, at the time that it is. */
  private async enter(): Promise<Decider | undefined> {
    const { engine, state, tokenSource, share } = this.options;
    await share();
    const source = tokenSource();
    if (source === undefined) return undefined;
    engine.advanceTo(state.clock.now());
    const publishPercent = () => state.config.ratePublishPercent;
    this.decider ??= new Decider({ ...source, engine, publishPercent, usage: state.quotas.usage(engine) });
    return this.decider;
  }
}

/** The text of an error reply, for callers with other protocols. */
function bare(error: string): string {
  return error.replace(/^ERR /, '');
}

function changed(refusal: CatalogueRefusal | undefined): LimitAnswer {
  return refusal ?? { changed: true };
}
