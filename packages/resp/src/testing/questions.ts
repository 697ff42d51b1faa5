import { vi } from 'vitest';
import type { TestClient } from './test-client.js';

/** One number of INFO, whichever section it is in. */
export async function infoNumber(client: TestClient, name: string): Promise<number> {
  const found = new RegExp(`^${name}:([\\d.]+)\\r$`, 'm').exec(await client.call('INFO', 'everything'));
  if (found === null) throw new Error(`INFO says nothing of ${name}`);
  return Number(found[1]);
}

/** A field of one client in CLIENT LIST; undefined when it is not connected. */
export async function clientField(client: TestClient, id: number, field: string): Promise<string | undefined> {
  const line = await client.call('CLIENT', 'LIST', 'ID', id);
  return new RegExp(` ${field}=(\\S*)`).exec(line)?.[1];
}

/** Tries until it succeeds; long, because a busy machine is no reason to fail. */
export function eventually(expectation: () => Promise<void> | void): Promise<void> {
  return vi.waitFor(expectation, { timeout: 20_000, interval: 20 });
}
