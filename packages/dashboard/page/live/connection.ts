/**
 * Reading from the server: plain requests, and the stream of snapshots. Credentials go into a header, never into an
 * address.
 */
const CREDENTIALS_NAME = 'quotadb-credentials';

export class NotAllowed extends Error {}

/** A user with a password, or a token without a user. Kept until the tab is closed. */
export function rememberCredentials(user: string, secret: string): void {
  const bytes = new TextEncoder().encode(`${user}:${secret}`);
  const basic = btoa(String.fromCharCode(...bytes));
  sessionStorage.setItem(CREDENTIALS_NAME, user === '' ? `Bearer ${secret}` : `Basic ${basic}`);
}

function headers(): HeadersInit {
  const authorization = sessionStorage.getItem(CREDENTIALS_NAME);
  return authorization === null ? {} : { authorization };
}

export async function getJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(address, { headers: headers(), ...(signal && { signal }) });
  await expectAllowed(response);
  return (await response.json()) as T;
}

export async function post(address: string, body: object): Promise<void> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await expectAllowed(response);
}

async function expectAllowed(response: Response): Promise<void> {
  if (response.status === 401 || response.status === 403) throw new NotAllowed('the server asks for credentials');
  if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).slice(0, 200)}`);
}

/**
 * Server-sent events over fetch, which unlike EventSource can send a header. Rejects when the stream ends; the caller
 * decides when to try again.
 */
export async function readEvents(address: string, onData: (data: string) => void, signal: AbortSignal): Promise<void> {
  const response = await fetch(address, { headers: { ...headers(), accept: 'text/event-stream' }, signal });
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
