import { findExecutable } from '../../servers/find-executable.js';
import type { LoadResult } from '../measures.js';
import type { ClientName } from '../options.js';
import { loadWithAutocannon } from './autocannon.js';
import { loadWithWrk } from './wrk.js';

/** Every connection sends its next request when the last has been answered. */
export interface ClosedLoad {
  readonly port: number;
  readonly items: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

export interface LoadClient {
  readonly name: ClientName;
  readonly load: (load: ClosedLoad) => Promise<LoadResult>;
}

export function chooseClient(wanted: ClientName | undefined): LoadClient {
  const wrk = findExecutable('wrk');
  if (wanted === 'wrk' && wrk === undefined) throw new Error('wrk is not installed (apt-get install wrk)');
  if (wrk !== undefined && wanted !== 'autocannon') return { name: 'wrk', load: (load) => loadWithWrk(wrk, load) };
  return { name: 'autocannon', load: loadWithAutocannon };
}
