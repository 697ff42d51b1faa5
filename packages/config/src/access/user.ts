import { LACKS_EVERYTHING, lacksOf, Need, type Role } from './roles.js';

/** A user of the configuration: plain data, sent between threads. */
export interface UserRecord {
  readonly name: string;
  readonly roles: readonly Role[];
  /** Keys that begin with one of these; none means all keys. */
  readonly prefixes: readonly string[];
  /** Commands that its roles would let it run and that it may not, in lower case: `keys`, `client|list`. */
  readonly without?: readonly string[];
  /** `scrypt:…`, from `quotadb hash-password`; each of them is accepted, so that a password can be rotated. */
  readonly passwords: readonly string[];
  /** `sha256:…`, for HTTP. */
  readonly tokens: readonly string[];
}

export type Users = ReadonlyMap<string, UserRecord>;

export const DEFAULT_USER = 'default';

/** A user with the checks of every call computed beforehand. */
export class User {
  readonly name: string;
  readonly record: UserRecord | undefined;
  /** See Need. */
  readonly lacks: number;
  private readonly prefixes: readonly Uint8Array[];
  private readonly without: ReadonlySet<string>;

  /** Without a record the user may run every command. */
  constructor(name: string, record?: UserRecord) {
    this.name = name;
    this.record = record;
    this.without = new Set(record?.without);
    const lacks = record === undefined ? 0 : lacksOf(record.roles, record.prefixes.length > 0);
    this.lacks = lacks | (this.without.size > 0 ? Need.names : 0);
    this.prefixes = (record?.prefixes ?? []).map((prefix) => Buffer.from(prefix));
  }

  get hasPrefixes(): boolean {
    return this.prefixes.length > 0;
  }

  /** Whether this command, or the one that it is a subcommand of, is taken from the user by name. */
  isWithout(command: string): boolean {
    return this.without.has(command) || this.without.has(command.split('|', 1)[0]);
  }

  /** Whether this user may use a key or a count of this name: where it has prefixes, one of them begins it. */
  covers(name: string | Uint8Array): boolean {
    if (!this.hasPrefixes) return true;
    const bytes = typeof name === 'string' ? Buffer.from(name) : name;
    return this.mayTouch(bytes, 0, bytes.length);
  }

  mayTouch(bytes: Uint8Array, start: number, length: number): boolean {
    return this.prefixes.some((prefix) => {
      if (prefix.length > length) return false;
      for (let offset = 0; offset < prefix.length; offset++) {
        if (bytes[start + offset] !== prefix[offset]) return false;
      }
      return true;
    });
  }
}

/** The user of --password, or of a server that has no credentials at all. */
export const defaultUser: User = new User(DEFAULT_USER);

/** The permissions that a client lacks; all where it has not logged in. */
export function lacksOfClient(user: User | undefined): number {
  return user === undefined ? LACKS_EVERYTHING : user.lacks;
}
