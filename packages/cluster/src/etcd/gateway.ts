import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { z } from 'zod';
import { answers, refusal } from './answers.js';
import { Code, EtcdRefused, EtcdUnreachable } from './errors.js';
import { type HttpAnswer, type HttpCall, type LineStream, openStream, post } from './http.js';

/** An election of etcd takes one to two seconds; a longer wait is better spent on another member. */
const ATTEMPT_MS = 2000;
/** Beside the stream of a watch, a few calls at once. */
const MAXIMUM_CONNECTIONS = 8;
/** Characters of an answer that is no JSON, in an error. */
const MAXIMUM_SHOWN = 200;
/** Attempts of one call, where there are fewer members: a kept connection may have ended unseen. */
const FEWEST_ATTEMPTS = 2;

export interface GatewayOptions {
  /** The client URLs of etcd's members. */
  readonly urls: readonly string[];
  /** Empty where etcd has no users. */
  readonly user?: string;
  readonly password?: string;
  /** Asked at every call, so that certificates can be replaced. */
  readonly tls?: () => SecureContextOptions | undefined;
  /** One member has this long to answer. */
  readonly attemptMs?: number;
}

export interface Answer<Form> {
  readonly value: Form;
  /** An earlier attempt of the same call has got no answer, and may have been carried out. */
  readonly mayHaveRunBefore: boolean;
}

/** Calls to etcd's JSON gateway: members are tried one after another, each with a deadline, each answer is checked. */
export class Gateway {
  private readonly options: GatewayOptions;
  private readonly urls: readonly URL[];
  private readonly plainAgent = new PlainAgent({ keepAlive: true, maxSockets: MAXIMUM_CONNECTIONS });
  private readonly secureAgent = new SecureAgent({ keepAlive: true, maxSockets: MAXIMUM_CONNECTIONS });
  /** The member that has answered last. */
  private preferred = 0;
  private token: string | undefined = undefined;
  private isClosed = false;

  constructor(options: GatewayOptions) {
    this.options = options;
    this.urls = options.urls.map((url) => new URL(url));
  }

  /** Rejects with EtcdUnreachable, or EtcdRefused. */
  async call<Form>(path: string, body: object, schema: z.ZodType<Form>): Promise<Answer<Form>> {
    const token = await this.logIn();
    try {
      return await this.tryAll(path, body, schema, token);
    } catch (error) {
      if (token === undefined || !(error instanceof EtcdRefused) || !isOldToken(error)) throw error;
      // Tokens end after a while, and with a restart of etcd.
      if (this.token === token) this.token = undefined;
      return this.tryAll(path, body, schema, await this.logIn());
    }
  }

  /** A stream from the member that has answered last. */
  async stream(path: string, body: object, received: (line: string) => void): Promise<LineStream> {
    const token = await this.logIn();
    return openStream(this.callOf(this.urls[this.preferred], path, body, token), received);
  }

  /** The next call begins with another member. */
  preferAnother(): void {
    this.preferred = (this.preferred + 1) % this.urls.length;
  }

  close(): void {
    this.isClosed = true;
    this.plainAgent.destroy();
    this.secureAgent.destroy();
  }

  private async logIn(): Promise<string | undefined> {
    const { user = '', password = '' } = this.options;
    if (user === '') return undefined;
    if (this.token !== undefined) return this.token;
    const { value } = await this.tryAll('/v3/auth/authenticate', { name: user, password }, answers.login, undefined);
    this.token = value.token;
    return value.token;
  }

  private async tryAll<Form>(
    path: string,
    body: object,
    schema: z.ZodType<Form>,
    token: string | undefined,
  ): Promise<Answer<Form>> {
    const { urls, preferred } = this;
    const reasons: string[] = [];
    const attempts = Math.max(urls.length, FEWEST_ATTEMPTS);
    for (let attempt = 0; attempt < attempts && !this.isClosed; attempt++) {
      const index = (preferred + attempt) % urls.length;
      try {
        const value = readAnswer(await post(this.callOf(urls[index], path, body, token)), schema);
        this.preferred = index;
        return { value, mayHaveRunBefore: attempt > 0 };
      } catch (error) {
        if (!(error instanceof EtcdUnreachable)) throw error;
        reasons.push(`${urls[index].host} ${error.message}`);
      }
    }
    throw new EtcdUnreachable(`etcd is not reachable: ${[...new Set(reasons)].join('; ')}`);
  }

  private callOf(url: URL, path: string, body: object, token: string | undefined): HttpCall {
    const { tls, attemptMs = ATTEMPT_MS } = this.options;
    const agent = url.protocol === 'https:' ? this.secureAgent : this.plainAgent;
    return { url, path, body, token, tls: tls?.(), agent, deadlineMs: attemptMs };
  }
}

function isOldToken({ code, message }: EtcdRefused): boolean {
  return code === Code.unauthenticated || (code === Code.invalid && message.includes('auth'));
}

/** The gate: every answer behind it has the form of its schema. */
function readAnswer<Form>({ status, text }: HttpAnswer, schema: z.ZodType<Form>): Form {
  const value = parse(text);
  if (status === 200) {
    const checked = schema.safeParse(value);
    if (checked.success) return checked.data;
    throw new EtcdUnreachable('has answered, and not as etcd does');
  }
  const refused = refusal.safeParse(value);
  if (!refused.success)
    throw new EtcdUnreachable(`has answered with HTTP ${status}: ${text.trim().slice(0, MAXIMUM_SHOWN)}`);
  const { error, code } = refused.data;
  if (code === Code.unavailable || code === Code.deadline || code === Code.cancelled)
    throw new EtcdUnreachable(`has answered: ${error}`);
  throw new EtcdRefused(`etcd refuses: ${error}`, code);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
