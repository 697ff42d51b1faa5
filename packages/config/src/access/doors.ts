import { isLoopbackHost } from '@quotadb/replication/plaintext';
import type { Users } from './user.js';

/** The settings that decide who may come in. Passwords and users change in place while the server runs. */
export interface DoorSettings {
  readonly host: string;
  readonly password: string;
  readonly users: Users;
  readonly countsTokens: readonly string[];
  readonly countsInternalTokens: readonly string[];
}

/** The settings that decide whether other regions are let in without a certificate. */
export interface ReplicationDoorSettings extends DoorSettings {
  readonly replicationPlaintext: boolean;
}

export function hasCredentials({ password, users, countsTokens, countsInternalTokens }: Omit<DoorSettings, 'host'>) {
  return password !== '' || users.size + countsTokens.length + countsInternalTokens.length > 0;
}

/**
 * The one rule for all doors: RESP and RESP over TLS, every API over HTTP, Envoy's services, metrics and the dashboard
 * serve callers without credentials only where no credential of any kind is configured, and only on this machine. So a
 * door for which there is no credential is closed once another has one.
 */
export function areDoorsOpen(settings: DoorSettings): boolean {
  return !hasCredentials(settings) && isLocal(settings.host);
}

/** Every HTTP request asks, and the address of a server does not change: it is looked at once, which takes 2 µs. */
let lastHost: { readonly host: string; readonly isLoopback: boolean } | undefined;

function isLocal(host: string): boolean {
  if (lastHost?.host !== host) lastHost = { host, isLoopback: isLoopbackHost(host) };
  return lastHost.isLoopback;
}

/**
 * The same rule for other regions: replication without certificates lets any peer change every counter, so once
 * there is any credential it has to be asked for by name.
 */
export function mayReplicateInPlaintext(settings: ReplicationDoorSettings): boolean {
  return settings.replicationPlaintext || !hasCredentials(settings);
}

/** The doors that are closed and for which no credential exists; each is a sentence for the log. */
export function doorsWithoutKey(settings: DoorSettings): string[] {
  if (areDoorsOpen(settings)) return [];
  const { password, users, countsTokens, countsInternalTokens } = settings;
  if (users.size > 0) return [];
  const sentences: string[] = [];
  if (password === '') sentences.push('no Redis client can log in: give a --password (or QUOTADB_PASSWORD) or users');
  if (countsTokens.length + countsInternalTokens.length === 0)
    sentences.push('the counts API is closed: it takes tokens only; give a --counts-token, or users with tokens');
  return sentences;
}
