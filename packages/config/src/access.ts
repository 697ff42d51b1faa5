import { createHash, timingSafeEqual } from 'node:crypto';
import type { Configuration } from './table.js';
import { DEFAULT_USER, defaultUser, User } from './user.js';

/** Who may do what, as one lane knows it. `config` is the lane's own, and changes in place. */
export class Access {
  private readonly config: Configuration;
  private users: ReadonlyMap<string, User> = new Map();

  constructor(config: Configuration) {
    this.config = config;
    this.refresh();
  }

  /** The configuration has other users than before. */
  refresh(): void {
    this.users = new Map([...this.config.users].map(([name, record]) => [name, new User(name, record)]));
  }

  /** Without credentials everybody who gets here may do everything. */
  get isOpen(): boolean {
    return this.config.password === '' && this.users.size === 0;
  }

  /** Who a client is that has said nothing yet; undefined where it must. */
  newcomer(): User | undefined {
    return this.isOpen ? defaultUser : undefined;
  }

  /** Undefined where there is no such user, or where it cannot log in. */
  find(name: string): User | undefined {
    const user = this.users.get(name);
    if (user !== undefined) return user;
    return name === DEFAULT_USER && (this.isOpen || this.config.password !== '') ? defaultUser : undefined;
  }

  names(): string[] {
    const configured = [...this.users.keys()];
    return this.users.has(DEFAULT_USER) ? configured : [DEFAULT_USER, ...configured];
  }

  /**
   * Whether these are the credentials of somebody whose password need not be hashed; undefined where only hashing can
   * tell. Digests are compared, so that the time taken tells neither where the first difference is nor how long the
   * password is. Without a password set, the default user gets in with any.
   */
  checkAtOnce(name: string, given: Uint8Array): boolean | undefined {
    const { password } = this.config;
    if (this.isOpen) return name === DEFAULT_USER;
    if (name !== DEFAULT_USER || this.users.has(DEFAULT_USER)) return this.users.size === 0 ? false : undefined;
    return password !== '' && timingSafeEqual(digest(given), digest(Buffer.from(password)));
  }
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
