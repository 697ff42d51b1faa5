import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { UserRecord, Users } from '@quotadb/config';
import { passwordMatches } from '@quotadb/config';
import type { Clock, LoginAttempt } from '@quotadb/resp';
import type { Logger } from 'pino';
import { FailedLogins, hostOf } from './failed-logins.js';

/** Hashed for unknown names, so that the time an attempt takes does not reveal which names exist. */
const DECOY = 'scrypt:16384:8:5:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/**
 * Checks passwords for all lanes, on the main thread, with hashing in the background. Hashing is slow on purpose. So
 * that a thousand connections of one program do not cost a thousand hashes, a password that was right once is
 * recognised by a keyed digest, which is dropped when the process ends or the hash leaves the configuration.
 */
export class LoginQueue {
  /** Hashes at once; each takes a thread of the pool and 16 MB. */
  static readonly CONCURRENT_HASHES = 2;
  /** Attempts that wait for a hash; past it they are refused, unless their digest is known. */
  static readonly MAXIMUM_WAITING = 256;

  readonly failed: FailedLogins;
  private readonly users: () => Users;
  private readonly logger: Logger;
  private readonly digestKey = randomBytes(32);
  private readonly recognised = new Map<string, Buffer>();
  private hashing = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly delay: (milliseconds: number) => Promise<unknown>;

  constructor(options: {
    users: () => Users;
    clock: Clock;
    logger: Logger;
    /** For tests. */
    delay?: (milliseconds: number) => Promise<unknown>;
  }) {
    this.users = options.users;
    this.failed = new FailedLogins(options.clock);
    this.logger = options.logger;
    this.delay = options.delay ?? ((milliseconds) => wait(milliseconds, undefined, { ref: false }));
  }

  login(attempt: LoginAttempt, answered: (isRight: boolean) => void): void {
    this.check(attempt).then(answered, (error: unknown) => {
      this.logger.error({ err: error }, 'a password could not be checked; the login was refused');
      answered(false);
    });
  }

  /** Resolves to true at once or after hashing, to false after the delay of a failed login. */
  async check(attempt: LoginAttempt): Promise<boolean> {
    const user = this.users().get(attempt.name);
    if (!attempt.isKnownWrong && (await this.isRight(user, attempt.password))) return true;
    const address = hostOf(attempt.address);
    const { failures, delayMs } = this.failed.record(address);
    // Failures 1, 2, 4, 8 … are logged: an attack shows and does not fill the log.
    if ((failures & (failures - 1)) === 0) this.logger.warn({ address, user: attempt.name, failures }, 'login failed');
    await this.delay(delayMs);
    return false;
  }

  /** After a change of users: drops the digests of hashes that no user has any more. */
  dropStale(): void {
    const hashes = new Set([...this.users().values()].flatMap(({ passwords }) => passwords));
    for (const hash of this.recognised.keys()) if (!hashes.has(hash)) this.recognised.delete(hash);
  }

  private async isRight(user: UserRecord | undefined, password: Uint8Array): Promise<boolean> {
    const digest = createHmac('sha256', this.digestKey).update(password).digest();
    const hashes = user === undefined || user.passwords.length === 0 ? [DECOY] : user.passwords;
    for (const hash of hashes) {
      const known = this.recognised.get(hash);
      if (known !== undefined && timingSafeEqual(known, digest)) return true;
    }
    for (const hash of hashes) {
      if (!(await this.hash(password, hash)) || hash === DECOY) continue;
      this.recognised.set(hash, digest);
      return true;
    }
    return false;
  }

  private async hash(password: Uint8Array, hash: string): Promise<boolean> {
    if (this.hashing >= LoginQueue.CONCURRENT_HASHES) {
      if (this.waiting.length >= LoginQueue.MAXIMUM_WAITING) return false;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else {
      this.hashing++;
    }
    try {
      return await passwordMatches(password, hash);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.hashing--;
      else next();
    }
  }
}
