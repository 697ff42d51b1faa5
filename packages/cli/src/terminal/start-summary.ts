import { type Configuration, hasCredentials, printAddress, QUOTADB_VERSION } from '@quotadb/config';
import type { ReadyLine } from '@quotadb/server';
import { formatDuration } from '@quotadb/wire';
import { BOLD, PLAIN } from '../client/colors.js';
import { alignColumns } from './table.js';

/** Addresses that mean every interface: a client on this machine uses the loopback. */
const EVERY_INTERFACE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const LOOPBACK = '127.0.0.1';

/** What a person at a terminal sees of a start, in place of the ready line: what runs where, and how to use it. */
export function summarizeStart(config: Configuration, ready: ReadyLine, hasColors: boolean): string {
  const rows = [
    ...respRows(config, ready),
    ['dashboard', `${urlOf(config, ready.http)}/dashboard/`],
    ['HTTP', `${urlOf(config, ready.http)}/docs`],
    ...(ready.internalHttp === undefined ? [] : [['internal HTTP', `${urlOf(config, ready.internalHttp)}/docs`]]),
    ...(ready.rls === undefined ? [] : [['Envoy (gRPC)', printAddress({ host: hostOf(config), port: ready.rls })]]),
    ...peerRows(config, ready),
    ['data', describeData(config)],
    ...(hasCredentials(config) ? [] : [['access', 'no password: this machine only, and anyone on it']]),
  ];
  return layOut(`QuotaDB ${QUOTADB_VERSION}, ${describeName(ready)}`, rows, hasColors);
}

function describeName({ region, member }: ReadyLine): string {
  return member === undefined ? `region ${region}` : `region ${region}, member ${member}`;
}

/** The same of `quotadb counts`. */
export function summarizeCounts(
  config: Configuration,
  { http, internalHttp }: CountsReady,
  hasColors: boolean,
): string {
  const rows = [
    ['counts API', `${urlOf(config, http)}/docs`],
    ...(internalHttp === undefined ? [] : [['internal part', `${urlOf(config, internalHttp)}/docs`]]),
    ['record', config.postgresUrl === '' ? 'a PostgreSQL of its own' : 'the PostgreSQL of --postgres'],
  ];
  return layOut(`QuotaDB counts ${QUOTADB_VERSION}`, rows, hasColors);
}

type CountsReady = Pick<ReadyLine, 'http' | 'internalHttp'>;

function layOut(title: string, rows: readonly string[][], hasColors: boolean): string {
  const lines = alignColumns(rows).map((line) => `  ${line}`);
  return [hasColors ? `${BOLD}${title}${PLAIN}` : title, '', ...lines, '', 'Ctrl-C stops it.', ''].join('\n');
}

function respRows(config: Configuration, { resp, respTls }: ReadyLine): string[][] {
  const login = config.users.size > 0 ? ' --user NAME --askpass' : config.password === '' ? '' : ' --askpass';
  const host = hostOf(config);
  const place = host === LOOPBACK ? '' : ` -h ${host}`;
  const plain = ['Redis clients', printAddress({ host, port: resp }), `redis-cli${place} -p ${resp}${login}`];
  const securely = `redis-cli --tls${place} -p ${respTls}${login}`;
  return [
    ...(config.respPort === -1 ? [] : [[plain[0], `${plain[1]}   try: ${plain[2]}`]]),
    ...(respTls === undefined ? [] : [['… with TLS', `${printAddress({ host, port: respTls })}   try: ${securely}`]]),
  ];
}

function peerRows({ replicationHost, peers }: Configuration, { repl }: ReadyLine): string[][] {
  if (repl === undefined || peers.length === 0) return [];
  const names = peers.map(({ region }) => region).join(', ');
  return [['other regions', `${names}; this one is reached at ${printAddress({ host: replicationHost, port: repl })}`]];
}

function describeData({ dataDirectory, fsync }: Configuration): string {
  if (dataDirectory === '') return 'in memory only: nothing is kept when it stops; --data DIR keeps it';
  const when =
    fsync === 'always'
      ? 'synced before every reply'
      : fsync === 'never'
        ? 'never synced'
        : `synced every ${formatDuration(fsync)}`;
  return `kept in ${dataDirectory}, ${when}`;
}

function urlOf(config: Configuration, port: number): string {
  return `${config.httpTls ? 'https' : 'http'}://${printAddress({ host: hostOf(config), port })}`;
}

function hostOf({ host }: Configuration): string {
  return EVERY_INTERFACE.has(host) ? LOOPBACK : host;
}
