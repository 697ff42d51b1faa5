import { environmentVariable } from '@quotadb/config';
import { type Command, Option } from 'commander';
import { Refused, type Target, Unreachable } from '../client/resp-client.js';
import { EXIT_FAILURE, EXIT_UNREACHABLE, EXIT_USAGE } from './exit-codes.js';

const DEFAULT_PORT = 6380;

export interface TargetOptions {
  readonly host: string;
  readonly resp: string;
  readonly user?: string;
  readonly password?: string;
  readonly tls?: boolean;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** The options of every command that talks to a running server. */
export function withTarget(command: Command): Command {
  return command
    .option('--host <address>', 'the address of the server', '127.0.0.1')
    .option('--resp <port>', 'its port for Redis clients, with or without TLS', String(DEFAULT_PORT))
    .option('--user <name>', 'the user to log in as; without it "default"')
    .addOption(
      new Option(
        '--password <password>',
        `its password; ${environmentVariable('password')} keeps it out of the list of processes`,
      ),
    )
    .option('--tls', 'use TLS')
    .option('--tls-ca <file>', 'the authority that the certificate of the server must be of; else those of the system')
    .option('--tls-cert <file>', 'the certificate of this client, where the server wants one')
    .option('--tls-key <file>', 'its private key');
}

export function targetOf(options: TargetOptions): Target {
  const port = Number(options.resp);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError(`--resp: ${options.resp} is no port`);
  const isSecure = options.tls === true || options.tlsCa !== undefined || options.tlsCert !== undefined;
  return {
    host: options.host,
    port,
    user: options.user,
    password: options.password ?? process.env[environmentVariable('password')],
    tls: isSecure ? { authority: options.tlsCa, certificate: options.tlsCert, key: options.tlsKey } : undefined,
  };
}

/** `eu=host:port`, `host:port` or a port; everything else as in the options. */
export function namedTarget(text: string, options: TargetOptions): Target & { readonly name: string } {
  const found = /^(?:([\w-]+)=)?(?:(.+):)?(\d+)$/.exec(text);
  if (found === null) throw new UsageError(`${text}: give servers as host:port or name=host:port`);
  const [, name, host, resp] = found;
  const target = targetOf({ ...options, host: host ?? options.host, resp });
  return { ...target, name: name ?? `${target.host}:${target.port}` };
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Runs it, and turns what goes wrong into words on standard error and an exit code. */
export async function guarded(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const { message } = error as Error;
    process.stderr.write(`quotadb: ${message}\n`);
    if (error instanceof UsageError) return EXIT_USAGE;
    if (error instanceof Unreachable) return EXIT_UNREACHABLE;
    if (error instanceof Refused || (error as NodeJS.ErrnoException).code !== undefined) return EXIT_FAILURE;
    throw error;
  }
}
