import type { Configuration } from '@quotadb/config';
import { Sites } from '@quotadb/http';
import { isLoopbackHost } from '@quotadb/replication/plaintext';

/** The names of a server over HTTP: its machine's own, the address that it is bound to, and those of --http-name. */
export function sitesOf({ host, httpNames }: Configuration, isOpen: () => boolean): Sites {
  return new Sites({ isOpen, isLoopbackName: isLoopbackHost, names: [host, ...httpNames] });
}
