import { Need } from '@quotadb/config';
import { Client, type ClientOptions } from './client.js';

/** The connected clients, in the order in which they connected. */
export class Clients implements Iterable<Client> {
  private readonly byId = new Map<number, Client>();
  private readonly nextId: () => number;
  /** CLIENT PAUSE: the state of every client, see Need, until this time of the monotonic clock. */
  private pause = 0;
  private pausedUntilMs = 0;
  /** The state of every client, see Need, for as long as the server runs. */
  private readonly lasting: number;

  constructor(nextId: () => number, lasting = 0) {
    this.nextId = nextId;
    this.lasting = lasting;
  }

  get count(): number {
    return this.byId.size;
  }

  add(options: Omit<ClientOptions, 'id'>): Client {
    const client = new Client({ id: this.nextId(), ...options });
    this.byId.set(client.id, client);
    const states = this.pause | this.lasting;
    if (states !== 0) client.setState(states, true);
    return client;
  }

  remove(client: Client): void {
    client.isConnected = false;
    this.byId.delete(client.id);
    client.stopMonitoring?.();
  }

  find(id: number): Client | undefined {
    return this.byId.get(id);
  }

  /** Of two pauses, the later end and the wider scope hold. */
  pauseUntil(untilMs: number, scope: 'all' | 'write'): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs);
    this.pause |= scope === 'all' ? Need.noPause | Need.noWritePause : Need.noWritePause;
    for (const client of this) client.setState(this.pause, true);
  }

  /** How long commands are still postponed; the end of the pause is noticed here. */
  pauseMs(nowMs: number): number {
    const leftMs = this.pausedUntilMs - nowMs;
    if (leftMs <= 0) this.unpause();
    return leftMs;
  }

  unpause(): void {
    for (const client of this) {
      client.setState(this.pause, false);
      if (client.isPostponed) client.connection.wake();
    }
    this.pause = 0;
    this.pausedUntilMs = 0;
  }

  [Symbol.iterator](): Iterator<Client> {
    return this.byId.values();
  }
}
