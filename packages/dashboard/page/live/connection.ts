/**
 * Reading from the server: plain requests, and the stream of snapshots. Credentials go into a header, never into an
 * address.
 */
const CREDENTIALS_NAME = 'quotadb-credentials';
const USER_NAME = 'quotadb-user';

/** A refusal, with the text of the server's problem. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export function isNotAllowed(error: unknown): error is Refused {
  return error instanceof Refused && (error.status === 401 || error.code === 'wrong_role' || error.status === 429);
}

/** A user with a password, or a token without a user. Kept until the tab is closed. */
export function rememberCredentials(user: string, secret: string): void {
  const bytes = new TextEncoder().encode(`${user}:${secret}`);
  const basic = btoa(String.fromCharCode(...bytes));
  sessionStorage.setItem(CREDENTIALS_NAME, user === '' ? `Bearer ${secret}` : `Basic ${basic}`);
  sessionStorage.setItem(USER_NAME, user);
}

export function forgetCredentials(): void {
  sessionStorage.removeItem(CREDENTIALS_NAME);
}

export function hasCredentials(): boolean {
  return sessionStorage.getItem(CREDENTIALS_NAME) !== null;
}

/** The user of the last try; empty for a token. */
export function rememberedUser(): string | null {
  return sessionStorage.getItem(USER_NAME);
}

function headers(): Record<string, string> {
  const authorization = sessionStorage.getItem(CREDENTIALS_NAME);
  return authorization === null ? {} : { authorization };
}

export async function getJson<T>(address: string): Promise<T> {
  const response = await fetch(address, { headers: { ...headers(), accept: 'application/json' } });
  await expectAllowed(response);
  return (await response.json()) as T;
}

/** A request that changes something. */
export async function send<T>(method: 'POST' | 'PUT' | 'DELETE', address: string, body?: object): Promise<T> {
  const response = await fetch(address, {
    method,
    headers: { ...headers(), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  await expectAllowed(response);
  return (await response.json()) as T;
}

async function expectAllowed(response: Response): Promise<void> {
  if (response.ok) return;
  const text = await response.text();
  try {
    const { code, detail, errors } = JSON.parse(text) as Problem;
    // The detail has those that no rule of its own words.
    const others = (errors ?? []).filter(({ detail: reason }) => !detail.includes(reason));
    const reasons = others.map(({ pointer, detail: reason }) => `${pointer.slice(1)}: ${reason}`);
    throw new Refused(response.status, code, [detail, ...reasons].join(' '));
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(response.status, '', `${response.status}: ${text.slice(0, 200)}`);
  }
}

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/**
 * Server-sent events over fetch, which unlike EventSource can send a header. Rejects when the stream ends; the caller
 * decides when to try again.
 */
export async function readEvents(address: string, onData: (data: string) => void): Promise<void> {
  const response = await fetch(address, { headers: { ...headers(), accept: 'text/event-stream' } });
  await expectAllowed(response);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('the server has ended the stream');
    text += decoder.decode(value, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() as string;
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n');
      if (data !== '') onData(data);
    }
  }
}
