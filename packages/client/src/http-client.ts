import type { CallOptions, RateDecision, WindowCount } from './commands.js';
import { bigintOf } from './commands.js';
import { ConnectionError, QuotadbError, TimeoutError } from './errors.js';
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
} from './quota-commands.js';

export interface HttpClientOptions {
  /** Where the server's HTTP port is: `http://127.0.0.1:8380`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string;
  /** 5,000 if left out, 0 never. */
  readonly timeoutMs?: number;
  /** The fetch of another runtime, or of a test. */
  readonly fetch?: typeof fetch;
}

const DEFAULT_TIMEOUT_MS = 5_000;

/** A problem that the server answered with (RFC 9457). */
export class HttpProblem extends QuotadbError {
  readonly status: number;
  /** Stable; programs may rely on it. */
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** Windows, rate limits and quotas over HTTP, for where there are no sockets. Counts are bigints. */
export class QuotadbHttpClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  /** A server over HTTP is only known to be away when it was asked. */
  readonly isAway = false;

  constructor(options: HttpClientOptions) {
    this.#url = options.url.replace(/\/$/, '');
    this.#headers = {
      'Content-Type': 'application/json',
      ...(options.token !== undefined && { Authorization: `Bearer ${options.token}` }),
    };
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch = options.fetch ?? fetch;
  }

  async windowIncrement(
    key: string,
    windowMs: number,
    amount: number | bigint = 1,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<bigint>> {
    const { startMs } = options;
    // Digits in a string are digits; a number would have to be a double.
    const body = { windowMs, amount: String(amount), ...(startMs !== undefined && { startMs }) };
    return windowOf(await this.#call('POST', `windows/${encodeURIComponent(key)}/increment`, body, options));
  }

  async windowRead(
    key: string,
    windowMs: number,
    options: CallOptions & { readonly startMs?: number } = {},
  ): Promise<WindowCount<bigint>> {
    const start = options.startMs === undefined ? '' : `&startMs=${options.startMs}`;
    const path = `windows/${encodeURIComponent(key)}?windowMs=${windowMs}${start}`;
    return windowOf(await this.#call('GET', path, undefined, options));
  }

  rateLimit(key: string, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    return this.#rate('POST', `limits/${encodeURIComponent(key)}/take`, { limit, windowMs, cost }, options);
  }

  rateAdd(key: string, limit: number, windowMs: number, cost: number, options?: CallOptions): Promise<RateDecision> {
    return this.#rate('POST', `limits/${encodeURIComponent(key)}/add`, { limit, windowMs, cost }, options);
  }

  ratePeek(key: string, limit: number, windowMs: number, cost = 1, options?: CallOptions): Promise<RateDecision> {
    const query = `limit=${limit}&windowMs=${windowMs}&cost=${cost}`;
    return this.#rate('GET', `limits/${encodeURIComponent(key)}?${query}`, undefined, options);
  }

  async quotaDefine(name: string, definition: QuotaDefinition, options?: CallOptions): Promise<void> {
    await this.#call('PUT', quotaPath(name), definition, options);
  }

  /** Whether there was one. */
  async quotaDrop(name: string, options?: CallOptions): Promise<boolean> {
    return (await this.#call('DELETE', quotaPath(name), undefined, options)).dropped === true;
  }

  async quotaList(options?: CallOptions): Promise<string[]> {
    return (await this.#call('GET', 'quotas', undefined, options)).quotas as string[];
  }

  async quotaPolicy(name: string, options?: CallOptions): Promise<QuotaPolicy> {
    const policy = (await this.#call('GET', quotaPath(name), undefined, options)) as Numbers;
    const { limit, windowMs, leaseMs, waitMs } = policy;
    return { limit: limit!, windowMs: windowMs!, leaseMs: leaseMs ?? 0, waitMs: waitMs! };
  }

  async quotaPeek(name: string, subject: string, options?: CallOptions): Promise<QuotaStanding> {
    const path = `${quotaPath(name)}?subject=${encodeURIComponent(subject)}`;
    const { rightsHere, pocketHere, remainingEverywhere, resetMs } = (await this.#call(
      'GET',
      path,
      undefined,
      options,
    )) as Numbers;
    return {
      remainingHere: rightsHere! + pocketHere!,
      remainingEverywhere: remainingEverywhere!,
      resetAfterMs: resetMs!,
    };
  }

  async quotaTake(name: string, subject: string, cost = 1, options: QuotaTakeOptions = {}): Promise<QuotaDecision> {
    const { waitMs, id } = options;
    return quotaDecisionOf(await this.#call('POST', quotaPath(name, '/take'), { subject, cost, waitMs, id }, options));
  }

  /** From all of the quotas or, where one has too little, from none. */
  async quotaTakeAll(items: readonly QuotaItem[], options: QuotaTakeOptions = {}): Promise<SeveralQuotaDecisions> {
    const { waitMs, id } = options;
    const { allowed, quotas } = await this.#call('POST', 'quotas/take-all', { items, waitMs, id }, options);
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
    const json = await this.#call('POST', quotaPath(name, '/reserve'), body, options);
    return { ...quotaDecisionOf(json), reservation: json.reservation as string | undefined };
  }

  async quotaCommit(reservation: string, actual: number, options?: CallOptions): Promise<QuotaSettlement> {
    const path = `quotas/reservations/${encodeURIComponent(reservation)}/commit`;
    return (await this.#call('POST', path, { actual }, options)) as unknown as QuotaSettlement;
  }

  /** Whether there was such a reservation, not settled yet. */
  async quotaCancel(reservation: string, options?: CallOptions): Promise<boolean> {
    const path = `quotas/reservations/${encodeURIComponent(reservation)}`;
    return (await this.#call('DELETE', path, undefined, options)).cancelled === true;
  }

  async quotaAcquire(
    name: string,
    subject: string,
    ttlMs: number,
    options: QuotaTakeOptions = {},
  ): Promise<QuotaAcquired> {
    const { waitMs, id } = options;
    const json = await this.#call('POST', quotaPath(name, '/acquire'), { subject, ttlMs, waitMs, id }, options);
    return { ...quotaDecisionOf(json), lease: json.lease as string | undefined };
  }

  async quotaRenew(lease: string, ttlMs: number, options: QuotaWaitOptions = {}): Promise<QuotaRenewed> {
    const path = `quotas/leases/${encodeURIComponent(lease)}/renew`;
    const { waitMs } = options;
    return (await this.#call('POST', path, { ttlMs, waitMs }, options)) as unknown as QuotaRenewed;
  }

  /** Whether it was still held. */
  async quotaRelease(lease: string, options?: CallOptions): Promise<boolean> {
    return (
      (await this.#call('DELETE', `quotas/leases/${encodeURIComponent(lease)}`, undefined, options)).released === true
    );
  }

  async #rate(method: string, path: string, body: object | undefined, options?: CallOptions): Promise<RateDecision> {
    const { key: _, ...decision } = await this.#call(method, path, body, options);
    return decision as unknown as RateDecision;
  }

  async #call(method: string, path: string, body: object | undefined, options: CallOptions = {}): Promise<Json> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const signals = [
      ...(options.signal === undefined ? [] : [options.signal]),
      ...(timeoutMs > 0 ? [AbortSignal.timeout(Math.ceil(timeoutMs))] : []),
    ];
    let status: number;
    let text: string;
    try {
      const response = await this.#fetch(`${this.#url}/api/v1/${path}`, {
        method,
        headers: this.#headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      // Whether a request that failed on its way was run is not known.
      if ((error as Error).name === 'TimeoutError') throw new TimeoutError('no answer in time', true, { cause: error });
      throw new ConnectionError(`the server could not be asked: ${(error as Error).message}`, true, { cause: error });
    }
    return resultOf(status, text);
  }
}

type Json = Record<string, unknown>;
type Numbers = Record<string, number>;

function resultOf(status: number, text: string): Json {
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new HttpProblem(status, 'no_json', `the server answered ${status} with what is no JSON`);
  }
  if (status === 200) return json;
  throw new HttpProblem(status, String(json.code ?? 'unknown'), String(json.detail ?? json.title ?? text));
}

function windowOf(json: Json): WindowCount<bigint> {
  return { count: bigintOf(json.count as string), startMs: Number(json.startMs), endMs: Number(json.endMs) };
}

function quotaPath(name: string, rest = ''): string {
  return `quotas/${encodeURIComponent(name)}${rest}`;
}

function quotaDecisionOf(json: Json): QuotaDecision {
  return { allowed: json.allowed === true, ...standingOf(json) };
}

function standingOf(json: Json): Omit<QuotaDecision, 'allowed'> {
  const { remainingHere, remainingEverywhere, resetMs, retryAfterMs } = json as Numbers;
  return {
    remainingHere: remainingHere!,
    remainingEverywhere: remainingEverywhere!,
    resetAfterMs: resetMs!,
    retryAfterMs: retryAfterMs!,
  };
}
