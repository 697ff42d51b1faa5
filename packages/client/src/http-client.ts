import type { CallOptions, RateDecision, WindowCount } from './commands.js';
import { bigintOf } from './commands.js';
import { ConnectionError, QuotadbError, TimeoutError } from './errors.js';

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

/** Windows and rate limits over HTTP, for where there are no sockets. Counts are bigints. */
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

  async #rate(method: string, path: string, body: object | undefined, options?: CallOptions): Promise<RateDecision> {
    const { key: _, ...decision } = await this.#call(method, path, body, options);
    return decision as unknown as RateDecision;
  }

  async #call(
    method: string,
    path: string,
    body: object | undefined,
    options: CallOptions = {},
  ): Promise<Record<string, string | number>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const signals = [
      ...(options.signal === undefined ? [] : [options.signal]),
      ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : []),
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

function resultOf(status: number, text: string): Record<string, string | number> {
  let json: Record<string, string | number>;
  try {
    json = JSON.parse(text);
  } catch {
    throw new HttpProblem(status, 'no_json', `the server answered ${status} with what is no JSON`);
  }
  if (status === 200) return json;
  throw new HttpProblem(status, String(json.code ?? 'unknown'), String(json.detail ?? json.title ?? text));
}

function windowOf(json: Record<string, string | number>): WindowCount<bigint> {
  return { count: bigintOf(json.count!), startMs: Number(json.startMs), endMs: Number(json.endMs) };
}
