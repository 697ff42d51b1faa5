import { createHash, timingSafeEqual } from 'node:crypto';
import { areDoorsOpen, type DoorSettings } from './doors.js';
import { DEFAULT_USER, defaultUser, User } from './user.js';

/** The users of one lane and their permissions. */
export class Access {
  private readonly config: DoorSettings;
  private users: ReadonlyMap<string, User> = new Map();

  constructor(config: DoorSettings) {
    this.config = config;
    this.refresh();
  }

  /** Call after the users of the configuration have changed. */
  refresh(): void {
    this.users = new Map([...this.config.users].map(([name, record]) => [name, new User(name, record)]));
  }

  /** Without credentials of any kind every client may run every command. */
  get isOpen(): boolean {
    return areDoorsOpen(this.config);
  }

  /** The user of a new connection; undefined where it has to log in. */
  newcomer(): User | undefined {
    return this.isOpen ? defaultUser : undefined;
  }

  /** Undefined where there is no such user, or the user cannot log in. */
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
   * Whether the password is right, where that needs no scrypt hash; undefined where it does. Digests are compared, so
   * that the time reveals neither the first difference nor the length of the password. Without a password set, the
   * default user may log in with any.
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
