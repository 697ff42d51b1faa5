import { LACKS_EVERYTHING, lacksOf, type Role } from './roles.js';

/** A user as the configuration names it: plain data, which travels between threads. */
export interface UserRecord {
  readonly name: string;
  readonly roles: readonly Role[];
  /** Keys that begin with one of these; none means all keys. */
  readonly prefixes: readonly string[];
  /** `scrypt:…`, as `quotadb hash-password` prints them; any of them will do, so that one can be replaced by another. */
  readonly passwords: readonly string[];
  /** `sha256:…`, for HTTP. */
  readonly tokens: readonly string[];
}

export type Users = ReadonlyMap<string, UserRecord>;

export const DEFAULT_USER = 'default';

/** A user as commands meet it, with what every call asks worked out beforehand. */
export class User {
  readonly name: string;
  readonly record: UserRecord | undefined;
  /** See Need. */
  readonly lacks: number;
  private readonly prefixes: readonly Uint8Array[];

  /** Without a record, one who may do everything. */
  constructor(name: string, record?: UserRecord) {
    this.name = name;
    this.record = record;
    this.lacks = record === undefined ? 0 : lacksOf(record.roles, record.prefixes.length > 0);
    this.prefixes = (record?.prefixes ?? []).map((prefix) => Buffer.from(prefix));
  }

  get hasPrefixes(): boolean {
    return this.prefixes.length > 0;
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

/** What a client lacks that is nobody yet. */
export function lacksOfClient(user: User | undefined): number {
  return user === undefined ? LACKS_EVERYTHING : user.lacks;
}
