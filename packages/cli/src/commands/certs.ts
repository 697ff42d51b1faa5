import { readFile } from 'node:fs/promises';
import { integer, type Kind, Mistake, settings, text } from '@quotadb/config';
import type { Command } from 'commander';
import { type Exit, runCommand } from '../terminal/run-command.js';

const AUTHORITY_DAYS = 3650;
const REPLICA_DAYS = 365;
/** A hundred years. */
const days = integer('days', 1, 36_500);
const host = text('name', /^[A-Za-z0-9._:*-]{1,253}$/, 'a host name or an IP address');

const EXAMPLES = `
Examples:
  $ quotadb certs init --cluster orders --out certs           ca.crt and ca.key
  $ quotadb certs issue --region us --dir certs               us.crt and us.key
  $ quotadb certs issue --region hub --relay --dir certs      may pass on what others wrote
  $ quotadb certs show certs/us.crt`;

/** Certificates for replication: made here, used by `serve --repl-cert … --repl-key … --repl-ca …`. */
export function certsCommand(program: Command, exit: Exit): void {
  const print = (run: () => Promise<string>): Promise<void> =>
    runCommand(exit, async () => {
      process.stdout.write(await run());
      return undefined;
    });
  const certs = program
    .command('certs')
    .description('make certificates by which regions recognise each other')
    .addHelpText('after', EXAMPLES);
  certs
    .command('init')
    .description('make the authority of a cluster: ca.crt for every region, ca.key for "certs issue" alone')
    .requiredOption('--cluster <name>', 'the name of the cluster, as in serve --cluster')
    .requiredOption('--out <directory>', 'where to put them')
    .option('--days <days>', 'how long it is valid', String(AUTHORITY_DAYS))
    .action((flags: InitFlags) => print(() => init(flags)));
  certs
    .command('issue')
    .description('make a certificate for a region, signed by the authority')
    .requiredOption('--region <name>', 'the name of the region, as in serve --region')
    .requiredOption('--dir <directory>', 'where the authority is')
    .option('--host <name...>', 'host names and addresses of it, for other tools; regions do not need them', [])
    .option('--relay', 'the region may pass on what other regions wrote: the hub of a hub-and-spoke cluster')
    .option('--days <days>', 'how long it is valid', String(REPLICA_DAYS))
    .option('--out <directory>', 'where to put it, if not beside the authority')
    .action((flags: IssueFlags) => print(() => issue(flags)));
  certs
    .command('show')
    .description('print the contents of a certificate')
    .argument('<file>', 'a certificate in PEM')
    .action((file: string) => print(() => show(file)));
}

interface InitFlags {
  readonly cluster: string;
  readonly out: string;
  readonly days: string;
}

interface IssueFlags {
  readonly region: string;
  readonly dir: string;
  readonly host: readonly string[];
  readonly relay?: boolean;
  readonly days: string;
  readonly out?: string;
}

async function init(options: InitFlags): Promise<string> {
  const cluster = parse('--cluster', settings.cluster.kind, options.cluster);
  const valid = parse('--days', days, options.days);
  const { initDirectory } = await import('@quotadb/replication/certificates');
  const { certFile, keyFile } = await initDirectory(options.out, cluster, valid);
  return (
    `${certFile}: the authority of cluster "${cluster}", for every region\n` +
    `${keyFile}: its key. It signs certificates for any region: keep it off the servers\n` +
    `next: quotadb certs issue --region NAME --dir ${options.out}\n`
  );
}

async function issue(flags: IssueFlags): Promise<string> {
  const region = parse('--region', settings.region.kind, flags.region);
  const hosts = flags.host.map((name) => parse('--host', host, name));
  const valid = parse('--days', days, flags.days);
  const { AUTHORITY, filesOf, issueInto } = await import('@quotadb/replication/certificates');
  const { certFile, keyFile } = await issueInto({
    directory: flags.dir,
    out: flags.out ?? flags.dir,
    region,
    hosts,
    mayRelay: flags.relay === true,
    days: valid,
  });
  const { certFile: authority } = filesOf(flags.dir, AUTHORITY);
  return (
    `${certFile}: the certificate of region "${region}"${flags.relay === true ? ', which may relay' : ''}\n` +
    `${keyFile}: its key, for that region alone\n` +
    `next: quotadb serve --region ${region} --repl-cert ${certFile} --repl-key ${keyFile} --repl-ca ${authority}\n`
  );
}

async function show(file: string): Promise<string> {
  const { CertificatesError, describeCertificate } = await import('@quotadb/replication/certificates');
  const pem = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CertificatesError(`cannot read ${file}: ${error.message}`);
  });
  try {
    return `${describeCertificate(pem).join('\n')}\n`;
  } catch (error) {
    throw new CertificatesError(`${file} is not a certificate in PEM: ${(error as Error).message}`);
  }
}

function parse<Value>(flag: string, kind: Kind<Value>, value: string): Value {
  try {
    return kind.parse(value);
  } catch (error) {
    if (error instanceof Mistake) throw new Mistake(`${flag}: ${error.message}`);
    throw error;
  }
}
