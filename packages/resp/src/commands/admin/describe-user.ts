import { DEFAULT_USER, type UserRecord } from '@quotadb/config';
import type { ServerState } from '../../session/server-state.js';

/** A user in the form of Redis's ACL. Of a password only the kind of hash is shown: a hash can be attacked offline. */
export interface DescribedUser {
  readonly flags: readonly string[];
  readonly passwords: readonly string[];
  readonly commands: string;
  readonly keys: string;
  readonly channels: string;
}

const ALL = { commands: '+@all', keys: '~*', channels: '&*' } as const;

export function describeUser({ access, config }: ServerState, name: string): DescribedUser {
  const record = config.users.get(name);
  if (record !== undefined) return describeRecord(record);
  if (name === DEFAULT_USER && access.isOpen) return { ...ALL, flags: ['on', 'nopass'], passwords: [] };
  const isOn = access.find(name) !== undefined;
  return { ...ALL, flags: [isOn ? 'on' : 'off'], passwords: isOn ? ['plain'] : [] };
}

/** One line of ACL LIST. */
export function describeRules(server: ServerState, name: string): string {
  const { flags, passwords, commands, keys, channels } = describeUser(server, name);
  const secrets = passwords.map((password) => `#${password}`);
  return ['user', name, ...flags, ...secrets, keys, channels === '' ? 'resetchannels' : channels, commands].join(' ');
}

function describeRecord({ roles, prefixes, without = [], passwords, tokens }: UserRecord): DescribedUser {
  const granted = roles.includes('admin')
    ? [ALL.commands]
    : ['-@all', '+@connection', ...roles.map((role) => `+@${role}`)];
  const commands = [...granted, ...without.map((command) => `-${command}`)].join(' ');
  return {
    flags: ['on'],
    passwords: [...passwords.map(() => 'scrypt'), ...tokens.map(() => 'sha256')],
    commands,
    keys: prefixes.length === 0 ? ALL.keys : prefixes.map((prefix) => `~${prefix}*`).join(' '),
    channels: '',
  };
}
