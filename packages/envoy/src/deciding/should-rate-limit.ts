import { type Decision, type DecisionRefusal, type Item, isRefusal } from '@quotadb/limits';
import { type Domains, limitNameOf, type Rule } from '../configuration/rule.js';
import { counterName } from '../matching/counter-name.js';
import { findRule, type Match } from '../matching/find-rule.js';
import type { RateLimitRequest, RequestDescriptor } from '../messages/rate-limit-request.js';
import {
  Code,
  type CurrentLimit,
  type DescriptorStatus,
  type RateLimitResponse,
} from '../messages/rate-limit-response.js';
import { unitNumbered, units } from '../messages/units.js';
import { headersOf, metadataOf } from './additions.js';
import type { FixedWindow, LimitStore } from './limit-store.js';
import { NO_MEMORY, type Refusal, refusals } from './refusal.js';
import { Figures, noteHits } from './rule-figures.js';

export interface ShouldRateLimitOptions {
  readonly domains: () => Domains;
  readonly store: LimitStore;
  /** Replies bring x-ratelimit headers for the client of the proxy. */
  readonly hasHeaders: boolean;
  /** Replies bring dynamic metadata for other filters of the proxy. */
  readonly hasMetadata: boolean;
}

const MAXIMUM_UINT32 = 2 ** 32 - 1;
const NO_LIMIT: DescriptorStatus = { code: Code.ok, limit: undefined, remaining: 0, resetSeconds: 0 };
const UNLIMITED: DescriptorStatus = { ...NO_LIMIT, remaining: MAXIMUM_UINT32 };

/** A descriptor of a request with the limit that applies to it. */
interface Limited {
  readonly rule: Rule;
  readonly figure: string;
  readonly limit: CurrentLimit;
  readonly windowSeconds: number;
  readonly hits: number;
  readonly counter: string;
}

/** A request while it is decided. */
interface Deciding {
  readonly request: RateLimitRequest;
  readonly limits: readonly (Limited | undefined)[];
  readonly statuses: DescriptorStatus[];
  /** Places of descriptors over a limit in quota mode. */
  readonly violations: number[];
  /** What fixed windows admit, where usage is exported. */
  readonly usage: { readonly window: FixedWindow; readonly hits: number }[];
  /** A fixed window denies it. */
  isDenied: boolean;
  hasFixed: boolean;
}

/**
 * Decides requests of Envoy's rate limit service. Fixed windows count as in the reference: each alone, and also past
 * its limit. Limits of kinds exact and sliding are charged together, all or none, and none where a fixed window denies.
 */
export class ShouldRateLimit {
  readonly figures = new Figures();
  private readonly options: ShouldRateLimitOptions;

  constructor(options: ShouldRateLimitOptions) {
    this.options = options;
  }

  /** Calls back once, now or when others have answered. Throws a Refusal, with nothing charged. */
  decide(
    request: RateLimitRequest,
    waitMs: number | undefined,
    done: (answer: RateLimitResponse | Refusal) => void,
  ): void {
    if (request.domain === '') throw refusals.noDomain();
    if (request.descriptors.length === 0) throw refusals.noDescriptors();
    const domains = this.options.domains();
    if (!domains.has(request.domain)) this.figures.unknownDomains++;
    const statuses: DescriptorStatus[] = new Array(request.descriptors.length).fill(NO_LIMIT);
    const limits = this.findLimits(domains, request, statuses);
    const deciding = { request, limits, statuses, violations: [], usage: [], isDenied: false, hasFixed: false };
    const elsewhere = this.countFixed(deciding);
    if (elsewhere === undefined) this.decideOthers(deciding, waitMs, done);
    else
      elsewhere.then(
        () => this.decideOthers(deciding, waitMs, done),
        (error: Error) => done(refusals.undecided(error.message)),
      );
  }

  private findLimits(
    domains: Domains,
    request: RateLimitRequest,
    statuses: DescriptorStatus[],
  ): (Limited | undefined)[] {
    let replaced: Set<string> | undefined;
    const limits = request.descriptors.map((descriptor, index) => {
      const limited = limitOf(domains, request, descriptor);
      if (limited === undefined) return undefined;
      const { replaces, unit } = limited.rule;
      if (replaces.length > 0) {
        replaced ??= new Set();
        for (const name of replaces) replaced.add(name);
      }
      if (unit !== undefined) return limited;
      statuses[index] = UNLIMITED;
      noteHits(this.figures.of(limited.figure, limited.rule.path), MAXIMUM_UINT32, 0, limited.hits);
      return undefined;
    });
    if (replaced === undefined) return limits;
    const names = replaced;
    return limits.map((limited) => (limited !== undefined && names.has(limited.rule.name) ? undefined : limited));
  }

  /** Resolves when counters of other groups have answered; undefined where there are none. */
  private countFixed(deciding: Deciding): Promise<unknown> | undefined {
    const { store } = this.options;
    const { limits } = deciding;
    let elsewhere: Promise<void>[] | undefined;
    for (let index = 0; index < limits.length; index++) {
      const limited = limits[index];
      if (limited === undefined || limited.rule.kind !== 'fixed') continue;
      deciding.hasFixed = true;
      const count = store.addFixed(limited.counter, limited.windowSeconds * 1000, limited.hits);
      if (typeof count === 'number') this.judgeFixed(deciding, index, limited, count);
      else {
        elsewhere ??= [];
        const judged = count.then((known) => this.judgeFixed(deciding, index, limited, known));
        // The store may refuse the next counter, and then the request does not wait for this one.
        judged.catch(() => {});
        elsewhere.push(judged);
      }
    }
    return elsewhere && Promise.all(elsewhere);
  }

  private judgeFixed(deciding: Deciding, index: number, limited: Limited, count: number): void {
    const { rule, figure, limit, windowSeconds, hits } = limited;
    const { requestsPerUnit } = limit;
    const figures = this.figures.of(figure, rule.path);
    noteHits(figures, requestsPerUnit, count, Math.max(0, hits));
    const isOver = count > requestsPerUnit;
    const remaining = isOver ? 0 : requestsPerUnit - count;
    const resetSeconds = windowSeconds - (Math.floor(this.options.store.nowMs() / 1000) % windowSeconds);
    const { store } = this.options;
    if (store.hasUsage && !isOver && hits !== 0)
      deciding.usage.push({ window: windowOf(limited, store.nowMs()), hits });
    const isEnforced = isOver && !rule.isShadow && !rule.isQuotaMode;
    if (isOver && !isEnforced) figures.notEnforced += Math.max(0, hits);
    if (isOver && rule.isQuotaMode) deciding.violations.push(index);
    if (isEnforced) deciding.isDenied = true;
    deciding.statuses[index] = { code: isEnforced ? Code.overLimit : Code.ok, limit, remaining, resetSeconds };
  }

  private decideOthers(
    deciding: Deciding,
    waitMs: number | undefined,
    done: (answer: RateLimitResponse | Refusal) => void,
  ): void {
    const others = deciding.limits.flatMap((limited, index) =>
      limited === undefined || limited.rule.kind === 'fixed' ? [] : [{ limited, index }],
    );
    if (others.length === 0) {
      this.finish(deciding, done);
      return;
    }
    const items = others.map(({ limited }) => itemOf(limited));
    this.options.store.decide({ items, isPeek: deciding.isDenied, waitMs }).then(
      (answer) => {
        if (isRefusal(answer)) done(refusals.undecided(reasonOf(answer)));
        else {
          this.takeOver(deciding, others, answer);
          this.finish(deciding, done);
        }
      },
      (error: Error) => done(refusals.undecided(error.message)),
    );
  }

  /** Counts the usage, and answers when all that was counted here is as safe as the server promises. */
  private finish(deciding: Deciding, done: (answer: RateLimitResponse | Refusal) => void): void {
    if (!this.countUsage(deciding)) {
      done(refusals.noMemory());
      return;
    }
    const durable = deciding.hasFixed ? this.options.store.whenDurable() : undefined;
    if (durable === undefined) done(this.respond(deciding));
    else
      durable.then(
        () => done(this.respond(deciding)),
        (error: Error) => done(refusals.undecided(error.message)),
      );
  }

  /** A request that is denied has used nothing. False where the store has no memory for the usage. */
  private countUsage({ statuses, usage }: Deciding): boolean {
    if (usage.length === 0 || isOverLimit(statuses)) return true;
    const { store } = this.options;
    const failed = usage.findIndex(({ window, hits }) => !store.countUsage(window, hits));
    if (failed === -1) return true;
    for (const { window, hits } of usage.slice(0, failed)) store.countUsage(window, -hits);
    return false;
  }

  private takeOver(
    { statuses, violations }: Deciding,
    others: readonly { readonly limited: Limited; readonly index: number }[],
    { items }: Decision,
  ): void {
    for (const [place, { limited, index }] of others.entries()) {
      const { rule, limit, hits } = limited;
      const { allowed, remaining, resetMs } = items[place];
      const figures = this.figures.of(limited.figure, rule.path);
      noteHits(figures, limit.requestsPerUnit, allowed ? hits : limit.requestsPerUnit + hits, hits);
      const isEnforced = !allowed && !rule.isShadow && !rule.isQuotaMode;
      if (!allowed && !isEnforced) figures.notEnforced += hits;
      if (!allowed && rule.isQuotaMode) violations.push(index);
      statuses[index] = {
        code: isEnforced ? Code.overLimit : Code.ok,
        limit,
        remaining: isEnforced ? 0 : Math.min(remaining, MAXIMUM_UINT32),
        resetSeconds: Math.max(0, Math.ceil(resetMs / 1000)),
      };
    }
  }

  private respond({ request, limits, statuses, violations }: Deciding): RateLimitResponse {
    const { hasHeaders, hasMetadata } = this.options;
    const isQuotaMode = hasMetadata && limits.some((limited) => limited?.rule.isQuotaMode === true);
    return {
      code: isOverLimit(statuses) ? Code.overLimit : Code.ok,
      statuses,
      headers: hasHeaders ? headersOf(statuses) : [],
      metadata: hasMetadata
        ? metadataOf(
            request,
            isQuotaMode,
            violations.toSorted((one, other) => one - other),
          )
        : undefined,
    };
  }
}

function isOverLimit(statuses: readonly DescriptorStatus[]): boolean {
  return statuses.some(({ code }) => code === Code.overLimit);
}

function windowOf({ rule, counter, windowSeconds }: Limited, nowMs: number): FixedWindow {
  const windowMs = windowSeconds * 1000;
  const startMs = Math.floor(nowMs / windowMs) * windowMs;
  return { limit: rule.limitName, counter, startMs, endMs: startMs + windowMs };
}

/** The limit of a descriptor: its own, if it brings one, or that of the configuration. */
function limitOf(domains: Domains, request: RateLimitRequest, descriptor: RequestDescriptor): Limited | undefined {
  const { domain } = request;
  const { entries, isNegative } = descriptor;
  const match =
    descriptor.limit === undefined ? findRule(domains, domain, entries) : ownLimit(domains, domain, descriptor);
  if (match === undefined) return undefined;
  const { rule, sharedValues, figure } = match;
  if (isNegative && rule.kind !== 'fixed') throw refusals.negativeHits(rule.path);
  const hits = descriptor.hits ?? Math.max(1, request.hits);
  const unit = units[rule.unit ?? 'second'];
  return {
    rule,
    figure,
    limit: { requestsPerUnit: rule.requestsPerUnit, unit: unit.number, name: rule.name },
    windowSeconds: unit.seconds,
    hits: isNegative ? -hits : hits,
    counter: counterName(domain, entries, sharedValues),
  };
}

/** A limit that comes with a descriptor is a fixed window, and applies in domains that are known. */
function ownLimit(domains: Domains, domain: string, { entries, limit }: RequestDescriptor): Match | undefined {
  if (limit === undefined || !domains.has(domain)) return undefined;
  const unit = unitNumbered(limit.unit);
  if (unit === undefined) throw refusals.badUnit(limit.unit);
  const labels = entries.map(({ key, value }) => (value === '' ? key : `${key}_${value}`));
  const { requestsPerUnit } = limit;
  const path = `${domain} (limits of requests)`;
  const rule: Rule = { ...OWN_LIMIT, path, requestsPerUnit, unit, limitName: limitNameOf(path, unit) };
  return { rule, sharedValues: undefined, figure: [domain, ...labels].join('.') };
}

const OWN_LIMIT: Omit<Rule, 'path' | 'requestsPerUnit' | 'unit' | 'limitName'> = {
  kind: 'fixed',
  name: '',
  replaces: [],
  isShadow: false,
  isQuotaMode: false,
  isDetailed: false,
};

function itemOf({ rule, limit, windowSeconds, hits, counter }: Limited): Item {
  return {
    name: rule.limitName,
    kind: rule.kind as 'exact' | 'sliding',
    subject: Buffer.from(counter),
    cost: hits,
    limit: limit.requestsPerUnit,
    windowMs: windowSeconds * 1000,
    shadow: rule.isShadow || rule.isQuotaMode,
  };
}

function reasonOf(answer: DecisionRefusal): string {
  return 'error' in answer ? answer.error : NO_MEMORY;
}
