/**
 * The permissions that a command needs and that a client lacks, as bits, so that the access check of a command is one
 * test: only where `(entry.needs & client.lacks) !== 0` the details are checked.
 *
 *   bit | a command needs it when                             | a client lacks it when
 *   ----|-----------------------------------------------------|------------------------------------------
 *   1   | it needs a login (not flagged no_auth)              | it has not logged in
 *   2   | it reads keys, or returns the value that it changes | its user has not the role read
 *   4   | it changes keys                                     | its user has not the role write
 *   8   | it takes from quotas                                | its user has not the role quota
 *   16  | it changes the server or concerns all keys or users | its user has not the role admin
 *   32  | it works on keys                                    | its user has key prefixes
 *   64  | it counts against a rate limit                      | its user has neither the role write nor quota
 *   128 | it looks at a rate limit                            | its user has neither the role read nor quota
 *   256 | it needs a login                                    | commands are taken from its user by name
 *
 * An admin lacks nothing, and a client of a server without users is an admin. The rest are no permissions but states of
 * a connection that some commands have to look at. They are bits here so that all other connections pay nothing.
 *
 *   512 | it works on keys                                    | it has selected another database than 0
 *  1024 | always                                              | all clients are paused
 *  2048 | it changes keys, or may                             | clients that write are paused
 *  4096 | it is not one of those that end a MONITOR           | it monitors
 *  8192 | it names keys, or is EXEC                           | there is a cluster map
 */
export const Need = {
  authentication: 1,
  read: 2,
  write: 4,
  quota: 8,
  admin: 16,
  prefixes: 32,
  countLimits: 64,
  readLimits: 128,
  names: 256,
  database: 512,
  noPause: 1024,
  noWritePause: 2048,
  noMonitor: 4096,
  slot: 8192,
} as const;

/** The states of a connection among the needs, which are no permissions. */
export const STATE_NEEDS: number = Need.database | Need.noPause | Need.noWritePause | Need.noMonitor | Need.slot;

export const roles = ['read', 'write', 'quota', 'admin'] as const;
export type Role = (typeof roles)[number];

const ROLE_NEEDS = Need.read | Need.write | Need.quota | Need.admin | Need.countLimits | Need.readLimits;

/** Permissions that several roles include: a user who may take from quotas may also count against limits. */
const ALSO_HAS: Readonly<Record<Role, number>> = {
  read: Need.readLimits,
  write: Need.countLimits,
  quota: Need.countLimits | Need.readLimits,
  admin: 0,
};

/** A client that has not logged in. */
export const LACKS_EVERYTHING: number = Need.authentication | ROLE_NEEDS | Need.prefixes;

/** Every command that needs a login. */
const ALWAYS = Need.authentication | Need.names;

/** The part of a command's declaration that determines who may run it; see Command. */
export interface AccessDeclaration {
  readonly flags: readonly string[];
  readonly role?: Role;
  readonly quotaSuffices?: true;
  readonly alsoReads?: unknown;
  /** It names keys and runs other commands, each with the needs of its own. */
  readonly keyCountAt?: number;
}

export function needsOf(command: AccessDeclaration): number {
  if (command.flags.includes('no_auth')) return 0;
  const role = roleOf(command);
  if (command.quotaSuffices === true)
    return ALWAYS | Need.prefixes | (role === 'write' ? Need.countLimits : Need.readLimits);
  if (role === undefined) return command.keyCountAt === undefined ? ALWAYS : ALWAYS | Need.prefixes;
  const alsoNeeds = command.alsoReads === undefined ? 0 : Need.read;
  return ALWAYS | Need[role] | alsoNeeds | (role === 'admin' ? 0 : Need.prefixes);
}

/** The role that a command needs; undefined where every logged-in client may run it. */
export function roleOf(command: AccessDeclaration): Role | undefined {
  if (command.role !== undefined) return command.role;
  if (command.flags.includes('admin')) return 'admin';
  if (command.flags.includes('write')) return 'write';
  return command.flags.includes('readonly') ? 'read' : undefined;
}

export function lacksOf(granted: readonly Role[], hasPrefixes: boolean): number {
  if (granted.includes('admin')) return 0;
  const had = granted.reduce((bits, role) => bits | Need[role] | ALSO_HAS[role], 0);
  return (ROLE_NEEDS & ~had) | (hasPrefixes ? Need.prefixes : 0);
}

export function isRoleMissing(needs: number, lacks: number): boolean {
  return (needs & lacks & ROLE_NEEDS) !== 0;
}
