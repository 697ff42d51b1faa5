import { readFile } from 'node:fs/promises';
import { integer, settings, text } from '@quotadb/config';
import { serverName } from '@quotadb/wire';
import type { Command } from 'commander';
import { printJson } from '../terminal/json-output.js';
import { commandLine } from '../terminal/next-step.js';
import { parseIn } from '../terminal/parse-in.js';
import { type Exit, runCommand } from '../terminal/run-command.js';

const AUTHORITY_DAYS = 3650;
const REPLICA_DAYS = 365;
/** In the next step of `certs init`, which knows no region. */
const EXAMPLE_REGION = 'us';
/** A hundred years. */
const days = integer('days', 1, 36_500);
const host = text('name', /^[A-Za-z0-9._:*-]{1,253}$/, 'a host name or an IP address');

const EXAMPLES = `
Examples:
  $ quotadb certs init --cluster orders --out certs           ca.crt and ca.key
  $ quotadb certs issue --region us --dir certs               us.crt and us.key
  $ quotadb certs issue --region us --member a --dir certs    us.a.crt and us.a.key
  $ quotadb certs issue --region hub --relay --dir certs      may pass on what others wrote
  $ quotadb certs show certs/us.crt`;

/** Certificates for replication: made here, used by `serve --repl-cert … --repl-key … --repl-ca …`. */
export function certsCommand(program: Command, exit: Exit): void {
  const print = (run: () => Promise<Made>, { json }: { readonly json?: boolean }): Promise<void> =>
    runCommand(exit, async () => {
      const { fields, text } = await run();
      if (json) printJson(fields);
      else process.stdout.write(`${text.join('\n')}\n`);
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
    .option('--json', 'as JSON')
    .action((flags: InitFlags) => print(() => init(flags), flags));
  certs
    .command('issue')
    .description('make a certificate for a region, signed by the authority')
    .requiredOption('--region <name>', 'the name of the region, as in serve --region')
    .option('--member <name>', 'the name of the server among several of the region, as in serve --member')
    .requiredOption('--dir <directory>', 'where the authority is')
    .option('--host <name...>', 'host names and addresses of it, for other tools; regions do not need them', [])
    .option('--relay', 'the region may pass on what other regions wrote: the hub of a hub-and-spoke cluster')
    .option('--days <days>', 'how long it is valid', String(REPLICA_DAYS))
    .option('--out <directory>', 'where to put it, if not beside the authority')
    .option('--json', 'as JSON')
    .action((flags: IssueFlags) => print(() => issue(flags), flags));
  certs
    .command('show')
    .description('print the contents of a certificate')
    .argument('<file>', 'a certificate in PEM')
    .option('--json', 'as JSON')
    .action((file: string, flags: JsonFlag) => print(() => show(file), flags));
}

interface JsonFlag {
  readonly json?: boolean;
}

/** What a command has done, for programs and for people. */
interface Made {
  readonly fields: object;
  readonly text: readonly string[];
}

interface InitFlags extends JsonFlag {
  readonly cluster: string;
  readonly out: string;
  readonly days: string;
}

interface IssueFlags extends JsonFlag {
  readonly region: string;
  readonly member?: string;
  readonly dir: string;
  readonly host: readonly string[];
  readonly relay?: boolean;
  readonly days: string;
  readonly out?: string;
}

async function init(options: InitFlags): Promise<Made> {
  const cluster = parseIn('--cluster', settings.cluster.kind, options.cluster);
  const valid = parseIn('--days', days, options.days);
  const { initDirectory } = await import('@quotadb/replication/certificates');
  const { certFile, keyFile } = await initDirectory(options.out, cluster, valid);
  const next = commandLine('certs', 'issue', '--region', EXAMPLE_REGION, '--dir', options.out);
  return {
    fields: { cluster, certificate: certFile, key: keyFile, next },
    text: [
      `${certFile}: the authority of cluster "${cluster}", for every region`,
      `${keyFile}: its key. It signs certificates for any region: keep it off the servers`,
      'next, for each region by its name:',
      `  ${next}`,
    ],
  };
}

async function issue(flags: IssueFlags): Promise<Made> {
  const region = parseIn('--region', settings.region.kind, flags.region);
  const member = parseIn('--member', settings.member.kind, flags.member ?? '');
  const name = serverName({ region, member });
  const hosts = flags.host.map((name) => parseIn('--host', host, name));
  const valid = parseIn('--days', days, flags.days);
  const { AUTHORITY, filesOf, issueInto, readCertificate } = await import('@quotadb/replication/certificates');
  const { certFile, keyFile } = await issueInto({
    directory: flags.dir,
    out: flags.out ?? flags.dir,
    region: name,
    hosts,
    mayRelay: flags.relay === true,
    days: valid,
  });
  const { certFile: authority } = filesOf(flags.dir, AUTHORITY);
  const mayRelay = flags.relay === true;
  const relays = mayRelay ? ', which may relay' : '';
  const { cluster } = readCertificate(await readFile(certFile, 'utf8'));
  const files = ['--repl-cert', certFile, '--repl-key', keyFile, '--repl-ca', authority];
  const named = cluster === undefined || cluster === settings.cluster.default ? [] : ['--cluster', cluster];
  const next = commandLine(
    'serve',
    '--region',
    region,
    ...(member === '' ? [] : ['--member', member]),
    ...named,
    ...files,
  );
  return {
    fields: {
      region,
      ...(member !== '' && { member }),
      cluster,
      mayRelay,
      certificate: certFile,
      key: keyFile,
      authority,
      next,
    },
    text: [
      `${certFile}: the certificate of ${member === '' ? 'region' : 'member'} "${name}"${relays}`,
      `${keyFile}: its key, for that server alone`,
      'next, with a --peer NAME=HOST:PORT for each other server:',
      `  ${next}`,
    ],
  };
}

async function show(file: string): Promise<Made> {
  const { CertificatesError, describeCertificate, readCertificate } = await import('@quotadb/replication/certificates');
  const pem = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CertificatesError(`cannot read ${file}: ${error.message}`);
  });
  try {
    return { fields: readCertificate(pem), text: describeCertificate(pem) };
  } catch (error) {
    throw new CertificatesError(`${file} is not a certificate in PEM: ${(error as Error).message}`);
  }
}
