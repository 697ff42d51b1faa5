import { environmentVariable, Mistake } from '@quotadb/config';
import type { Command } from 'commander';
import type { Target } from '../client/resp-client.js';

const DEFAULT_PORT = 6380;
const PASSWORD_VARIABLE = environmentVariable('password');

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

/** Adds the options of every command that talks to a running server. */
export function withTarget(command: Command): Command {
  return command
    .option('--host <address>', 'the address of the server', '127.0.0.1')
    .option('-p, --resp <port>', 'its port for Redis clients, with or without TLS', String(DEFAULT_PORT))
    .option('--user <name>', 'the user to log in as; without it "default"')
    .option('--password <password>', `its password; ${PASSWORD_VARIABLE} keeps it out of the list of processes`)
    .option('--tls', 'use TLS')
    .option('--tls-ca <file>', 'the authority that signed the certificate of the server; else those of the system')
    .option('--tls-cert <file>', 'the certificate of this client, where the server wants one')
    .option('--tls-key <file>', 'its private key');
}

export function targetOf(options: TargetOptions): Target {
  const port = Number(options.resp);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Mistake(`--resp: "${options.resp}" is no port: give 1 to 65535`);
  const isSecure = options.tls === true || options.tlsCa !== undefined || options.tlsCert !== undefined;
  return {
    host: options.host,
    port,
    user: options.user,
    password: options.password ?? process.env[PASSWORD_VARIABLE],
    tls: isSecure ? { authority: options.tlsCa, certificate: options.tlsCert, key: options.tlsKey } : undefined,
  };
}

/** `eu=host:port`, `host:port` or a port; everything else as in the options. */
export function namedTarget(text: string, options: TargetOptions): Target & { readonly name: string } {
  const found = /^(?:([\w-]+)=)?(?:(.+):)?(\d+)$/.exec(text);
  if (found === null) throw new Mistake(`"${text}" is no server: give host:port, name=host:port or a port`);
  const [, name, host, resp] = found;
  const target = targetOf({ ...options, host: host ?? options.host, resp });
  return { ...target, name: name ?? `${target.host}:${target.port}` };
}
