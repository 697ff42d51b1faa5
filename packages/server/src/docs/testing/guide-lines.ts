import { QUOTADB_BINARY } from '../../testing/index.js';

/** What a command line of the guide finds where a test runs it. */
export interface Surroundings {
  /** Directories that the guide names by absolute paths are below it. */
  readonly directory: string;
  /** The server that is asked: its ports with and without TLS. */
  readonly resp: number;
  readonly respTls: number;
  readonly redisPort: number;
  /** Ports of the guide, as its regions name each other by them, and the free ones that they have here. */
  readonly ports: ReadonlyMap<string, number>;
}

/** The ports of servers in the guide. */
export const GUIDE_PORTS = /\b[678]3[89]\d\b/g;

const ASKS = /quotadb (?:cli|backup|import|watch|peers \w+|status(?! \w+=))/;
/** Schedules of a simulation, which the guide leaves at a thousand. */
const SCHEDULES = 1;

/** The line for bash: other machines are this one, ports are free ones, and the rest is as the guide has it. */
export function localLine(line: string, surroundings: Surroundings): string {
  const { directory, resp, redisPort } = surroundings;
  const local = line
    .replaceAll('…', 'secret')
    .replaceAll('127.0.0.1:6379', `127.0.0.1:${redisPort}`)
    .replaceAll(/\b10\.0\.\d\.1:6380/g, `127.0.0.1:${resp}`)
    .replaceAll(/ --host \w+\.example\.com/g, '')
    .replaceAll(/\b\w+\.example\.com:\d+/g, '127.0.0.1:1')
    .replaceAll('0.0.0.0', '127.0.0.1')
    .replaceAll(/ \/(?=[\w/-]+)/g, ` ${directory}/`);
  if (isServe(line)) return serveLine(local, surroundings);
  if (line.startsWith('redis-cli')) return redisLine(local, surroundings);
  const simulated = line.includes('simulate') && !line.includes('--seed') ? `${local} --seeds ${SCHEDULES}` : local;
  return inShell(simulated.replace(ASKS, `$& --resp ${resp}`));
}

export function isServe(line: string): boolean {
  return /quotadb serve/.test(line);
}

/** A server whose ports no other line names gets any that are free. */
function serveLine(local: string, { ports }: Surroundings): string {
  const text = local
    .replaceAll(GUIDE_PORTS, (port) => String(ports.get(port) ?? 0))
    .replaceAll(/--(resp-tls) \d+/g, '--$1 0');
  const missing = ['resp', 'http', 'repl'].filter((name) => !text.includes(`--${name} `)).map((name) => `--${name} 0`);
  const [, environment = '', command = ''] = /^((?:[A-Z_]+=\S+ )*)(.*)$/.exec(text) ?? [];
  return `${environment}exec ${inShell([command, ...missing, '--max-memory 16mb'].join(' '))}`;
}

/** With `-e` an error reply is a failure. */
function redisLine(local: string, { resp, respTls, ports }: Surroundings): string {
  return local.replaceAll(/redis-cli(?: -p (\d+))?/g, (_, port: string) => {
    return `redis-cli -e -p ${ports.get(port) ?? (local.includes('--tls') ? respTls : resp)}`;
  });
}

function inShell(text: string): string {
  return text.replace(/(?:npx )?quotadb(?= )/, `'${process.execPath}' '${QUOTADB_BINARY}'`);
}
