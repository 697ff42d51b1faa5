import type { ServerState } from '@quotadb/resp';

/** What runs where; the program prints it as its first line of standard output. */
export interface ReadyLine {
  readonly ready: true;
  readonly region: string;
  /** Absent where the server is the only one of its region. */
  readonly member?: string;
  readonly resp: number;
  readonly respTls?: number;
  readonly http: number;
  readonly internalHttp?: number;
  readonly repl?: number;
  /** Of the service that Envoy asks; absent without --rls. */
  readonly rls?: number;
  readonly pid: number;
  readonly transport: string;
  readonly lanes: number;
}

export function readyLineOf({ config, identity }: Pick<ServerState, 'config' | 'identity'>): ReadyLine {
  return {
    ready: true,
    region: config.region,
    ...(config.member !== '' && { member: config.member }),
    resp: identity.respPort,
    ...(identity.respTlsPort !== undefined && { respTls: identity.respTlsPort }),
    http: identity.httpPort,
    ...(identity.internalHttpPort !== undefined && { internalHttp: identity.internalHttpPort }),
    ...(identity.replicationPort !== undefined && { repl: identity.replicationPort }),
    ...(identity.rlsPort !== undefined && { rls: identity.rlsPort }),
    pid: identity.processId,
    transport: identity.transport,
    lanes: identity.laneCount,
  };
}
