import { type Stats, statSync } from 'node:fs';
import { type Configuration, settingOf } from '@quotadb/config';

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
const GROUP_WRITE = 0o020;

interface WatchedFile {
  readonly what: string;
  readonly path: string;
  /** A user who reads it has what it protects. */
  readonly isSecret: boolean;
}

/** Every file and directory of the configuration that others must not change, or not even read. */
function watchedFiles(config: Configuration, configFile: string | undefined): readonly WatchedFile[] {
  const key = (name: 'tlsKey' | 'replicationKey' | 'etcdKey') => ({
    what: `the private key of --${settingOf(name).flag}`,
    path: config[name],
    isSecret: true,
  });
  const file = (what: string, path: string) => ({ what, path, isSecret: false });
  return [
    key('tlsKey'),
    key('replicationKey'),
    key('etcdKey'),
    file('the certificate of --tls-cert', config.tlsCertificate),
    file('the authority of --tls-ca', config.tlsAuthority),
    file('the certificate of --repl-cert', config.replicationCertificate),
    file('the authority of --repl-ca', config.replicationAuthority),
    file('the certificate of --etcd-cert', config.etcdCertificate),
    file('the authority of --etcd-ca', config.etcdAuthority),
    file('the configuration of --config', configFile ?? ''),
    file('the directory of --data', config.dataDirectory),
    file('the directory of --backup-dir', config.backupDirectory),
  ].filter(({ path }) => path !== '');
}

/**
 * A sentence for every file that users other than the one of this process may change, or a secret that they may read.
 */
export function looseFileModes(config: Configuration, configFile: string | undefined): string[] {
  const ownGroup = process.getgid?.();
  if (ownGroup === undefined) return [];
  return watchedFiles(config, configFile).flatMap(({ what, path, isSecret }) => {
    const found = modeOf(path);
    if (found === undefined) return [];
    const { mode, gid } = found;
    const mayWrite = (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITE) !== 0 && gid !== ownGroup);
    const octal = (mode & 0o7777).toString(8);
    const remedy = `chmod ${isSecret ? 'go-rwx' : 'go-w'} ${path}`;
    if (mayWrite) return [`${what}, ${path}, can be changed by other users (mode ${octal}): ${remedy}`];
    const mayRead = isSecret && (mode & OTHERS_READ) !== 0;
    return mayRead ? [`${what}, ${path}, can be read by every user (mode ${octal}): ${remedy}`] : [];
  });
}

/** Undefined where it cannot be looked at: whatever uses it says why. */
function modeOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
