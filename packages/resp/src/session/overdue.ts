import type { Configuration } from '@quotadb/config';
import type { Client } from './client.js';

/** Whether a connection has been silent for too long, or has not said who it is in time; looked at once a second. */
export function isOverdue(client: Client, config: Configuration, nowMs: number): boolean {
  const { timeoutSeconds, loginTimeoutSeconds } = config;
  if (!client.authenticated && loginTimeoutSeconds > 0) {
    if (nowMs - client.connectedAtMs > loginTimeoutSeconds * 1000) return true;
  }
  return timeoutSeconds > 0 && nowMs - client.lastActiveAtMs > timeoutSeconds * 1000 && !client.blocked;
}
