import { Client, type ClientOptions } from './client.js';

/** The connected clients, in the order in which they connected. */
export class Clients implements Iterable<Client> {
  private readonly byId = new Map<number, Client>();
  private readonly nextId: () => number;

  constructor(nextId: () => number) {
    this.nextId = nextId;
  }

  get count(): number {
    return this.byId.size;
  }

  add(options: Omit<ClientOptions, 'id'>): Client {
    const client = new Client({ id: this.nextId(), ...options });
    this.byId.set(client.id, client);
    return client;
  }

  remove(client: Client): void {
    client.isConnected = false;
    this.byId.delete(client.id);
  }

  [Symbol.iterator](): Iterator<Client> {
    return this.byId.values();
  }
}
