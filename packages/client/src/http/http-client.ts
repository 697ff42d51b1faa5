import { ConnectionError, QuotadbError, TimeoutError } from '../contract/errors.js';
import type {
  QuotaAcquired,
  QuotaDecision,
  QuotaDefinition,
  QuotaItem,
  QuotaPolicy,
  QuotaRenewed,
  QuotaReserved,
  QuotaReserveOptions,
  QuotaSettlement,
  QuotaStanding,
  QuotaTakeOptions,
  QuotaWaitOptions,
  SeveralQuotaDecisions,
} from '../contract/quota.js';
import type { CallOptions, RateDecision, WindowCount } from '../contract/rate.js';

export interface HttpClientOptions {
  /** The server's HTTP port: `http://127.0.0.1:8380`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string;
  /** 5,000 if left out, 0 never. */
  readonly timeoutMs?: number;
  /** The fetch of another runtime, or of a test. */
  readonly fetch?: typeof fetch;
}

const DEFAULT_TIMEOUT_MS = 5_000;

/** An error answer of the server (RFC 9457). */
export class HttpProblem extends QuotadbError {
  readonly status: number;
  /** Stable: programs may rely on it. */
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** Windows, rate limits and quotas over HTTP, for runtimes without sockets. Counts are bigints. */
export class QuotadbHttpClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  /** Without a connection, only a request shows whether the server can be reached. */
  readonly isAway = false;

  constructor(options: HttpClientOptions) {
    this.#url = options.url.replace(/\/$/, '');
    this.#headers = {
      'Content-Type': 'application/json',
      ...(options.token !== undefined && { Authorization: `Bearer ${options.token}` }),
    };
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    // Browsers refuse a fetch that is called as a method of another object.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  async windowIncrement(
    key: string,
    windowMs: number,
    amount: number | bigint = 1,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<bigint>> {
    // A string keeps all digits of a bigint; a JSON number would be a double.
    const body = { windowMs, amount: String(amount), startMs: options.startMs };
    return windowOf(await this.#call('POST', path`windows/${key}/increment`, options, body));
  }

  async windowRead(
    key: string,
    windowMs: number,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<bigint>> {
    const start = options.startMs === undefined ? '' : `&startMs=${options.startMs}`;
    return windowOf(await this.#call('GET', `${path`windows/${key}`}?windowMs=${windowMs}${start}`, options));
  }

  rateLimit(key: string, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    return this.#rate('POST', path`limits/${key}/take`, options, { limit, windowMs, cost });
  }

  rateAdd(key: string, limit: number, windowMs: number, cost: number, options?: CallOptions): Promise<RateDecision> {
    return this.#rate('POST', path`limits/${key}/add`, options, { limit, windowMs, cost });
  }

  ratePeek(key: string, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    return this.#rate('GET', path`limits/${key}?limit=${limit}&windowMs=${windowMs}&cost=${cost}`, options);
  }

  async quotaDefine(name: string, definition: QuotaDefinition, options?: CallOptions): Promise<void> {
    await this.#call('PUT', path`quotas/${name}`, options, definition);
  }

  /** Returns whether the quota existed. */
  async quotaDrop(name: string, options?: CallOptions): Promise<boolean> {
    return (await this.#call('DELETE', path`quotas/${name}`, options)).dropped === true;
  }

  async quotaList(options?: CallOptions): Promise<string[]> {
    return (await this.#call('GET', 'quotas', options)).quotas as string[];
  }

  async quotaPolicy(name: string, options?: CallOptions): Promise<QuotaPolicy> {
    const policy = await this.#call('GET', path`quotas/${name}`, options);
    const { limit, windowMs, leaseMs = 0, waitMs } = policy as unknown as Partial<QuotaPolicy>;
    return { limit, windowMs, leaseMs, waitMs } as QuotaPolicy;
  }

  async quotaPeek(name: string, subject: string, options?: CallOptions): Promise<QuotaStanding> {
    const standing = (await this.#call('GET', path`quotas/${name}?subject=${subject}`, options)) as unknown as {
      readonly [field in 'rightsHere' | 'remainingEverywhere' | 'resetMs']: number;
    } & { readonly [field in 'localBalanceHere' | 'pocketHere']?: number };
    return {
      // Servers of 0.1 have only the former name.
      remainingHere: standing.rightsHere + (standing.localBalanceHere ?? standing.pocketHere ?? 0),
      remainingEverywhere: standing.remainingEverywhere,
      resetAfterMs: standing.resetMs,
    };
  }

  async quotaTake(name: string, subject: string, cost = 1, options: QuotaTakeOptions = {}): Promise<QuotaDecision> {
    const { waitMs, id } = options;
    return quotaDecisionOf(await this.#call('POST', path`quotas/${name}/take`, options, { subject, cost, waitMs, id }));
  }

  /** Takes from all of the quotas or, where one has too little, from none. */
  async quotaTakeAll(items: readonly QuotaItem[], options: QuotaTakeOptions = {}): Promise<SeveralQuotaDecisions> {
    const { waitMs, id } = options;
    const { allowed, quotas } = await this.#call('POST', 'quotas/take-all', options, { items, waitMs, id });
    return { allowed: allowed === true, quotas: (quotas as Json[]).map(standingOf) };
  }

  async quotaReserve(
    name: string,
    subject: string,
    estimate: number,
    ttlMs: number,
    options: QuotaReserveOptions = {},
  ): Promise<QuotaReserved> {
    const { waitMs, id, lapse } = options;
    const body = { subject, estimate, ttlMs, waitMs, id, lapse };
    const json = await this.#call('POST', path`quotas/${name}/reserve`, options, body);
    return { ...quotaDecisionOf(json), reservation: json.reservation as string | undefined };
  }

  async quotaCommit(reservation: string, actual: number, options?: CallOptions): Promise<QuotaSettlement> {
    const json = await this.#call('POST', path`quotas/reservations/${reservation}/commit`, options, { actual });
    return json as unknown as QuotaSettlement;
  }

  /** Returns whether the reservation existed and was not settled. */
  async quotaCancel(reservation: string, options?: CallOptions): Promise<boolean> {
    return (await this.#call('DELETE', path`quotas/reservations/${reservation}`, options)).cancelled === true;
  }

  async quotaAcquire(
    name: string,
    subject: string,
    ttlMs: number,
    options: QuotaTakeOptions = {},
  ): Promise<QuotaAcquired> {
    const { waitMs, id } = options;
    const json = await this.#call('POST', path`quotas/${name}/acquire`, options, { subject, ttlMs, waitMs, id });
    return { ...quotaDecisionOf(json), lease: json.lease as string | undefined };
  }

  async quotaRenew(lease: string, ttlMs: number, options: QuotaWaitOptions = {}): Promise<QuotaRenewed> {
    const { waitMs } = options;
    const json = await this.#call('POST', path`quotas/leases/${lease}/renew`, options, { ttlMs, waitMs });
    return json as unknown as QuotaRenewed;
  }

  /** Returns whether the lease was still held. */
  async quotaRelease(lease: string, options?: CallOptions): Promise<boolean> {
    return (await this.#call('DELETE', path`quotas/leases/${lease}`, options)).released === true;
  }

  async #rate(method: string, target: string, options?: CallOptions, body?: object): Promise<RateDecision> {
    const { key: _, resetMs, ...decision } = await this.#call(method, target, options, body);
    // Servers of 0.1 have the name that it has here.
    return { resetAfterMs: resetMs, ...decision } as unknown as RateDecision;
  }

  async #call(method: string, target: string, options: CallOptions = {}, body?: object): Promise<Json> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const signals = [
      ...(options.signal === undefined ? [] : [options.signal]),
      ...(timeoutMs > 0 ? [AbortSignal.timeout(Math.ceil(timeoutMs))] : []),
    ];
    let status: number;
    let text: string;
    try {
      const response = await this.#fetch(`${this.#url}/api/v1/${target}`, {
        method,
        headers: this.#headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      // The server may have run a request whose answer did not arrive.
      if ((error as Error).name === 'TimeoutError') throw new TimeoutError('no answer in time', true, { cause: error });
      throw new ConnectionError(`the server could not be asked: ${(error as Error).message}`, true, { cause: error });
    }
    return resultOf(status, text);
  }
}

type Json = Record<string, unknown>;

function resultOf(status: number, text: string): Json {
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new HttpProblem(status, 'no_json', `the server answered ${status} with a body that is not JSON`);
  }
  if (status === 200) return json;
  throw new HttpProblem(status, String(json.code ?? 'unknown'), String(json.detail ?? json.title ?? text));
}

function windowOf(json: Json): WindowCount<bigint> {
  return { count: BigInt(json.count as string), startMs: Number(json.startMs), endMs: Number(json.endMs) };
}

/** A path whose values are escaped. */
function path(texts: TemplateStringsArray, ...values: (string | number)[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

function quotaDecisionOf(json: Json): QuotaDecision {
  return { allowed: json.allowed === true, ...standingOf(json) };
}

function standingOf(json: Json): Omit<QuotaDecision, 'allowed'> {
  const { remainingHere, remainingEverywhere, resetMs, retryAfterMs } = json as Record<string, number>;
  return { remainingHere, remainingEverywhere, resetAfterMs: resetMs, retryAfterMs } as Omit<QuotaDecision, 'allowed'>;
}
