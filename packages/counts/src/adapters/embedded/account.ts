import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from './environment.js';

const run = promisify(execFile);

/** The system account that PostgreSQL runs under. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root. Of the accounts that nearly every system has, the first that is there is taken.
 */
const UNPRIVILEGED_ACCOUNTS = ['postgres', 'nobody'];

/** Undefined: run as who we are. */
export async function chooseAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of UNPRIVILEGED_ACCOUNTS) {
    const account = await lookUp(name);
    if (account !== undefined) return account;
  }
  throw new Error(`PostgreSQL cannot run as root, and there is no account ${UNPRIVILEGED_ACCOUNTS.join(' or ')}.`);
}

/** Whether the account may enter every folder on the way to this one. */
export async function canReach(account: Account, folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const { uid, gid, mode } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

async function lookUp(name: string): Promise<Account | undefined> {
  try {
    const ask = (flag: string) => run('id', [flag, name], { env: childEnvironment() });
    const [uid, gid] = await Promise.all([ask('-u'), ask('-g')]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}
