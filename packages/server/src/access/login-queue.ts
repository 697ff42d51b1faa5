import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { UserRecord, Users } from '@quotadb/config';
import { passwordMatches } from '@quotadb/config';
import type { Clock, LoginAnswer, LoginAttempt } from '@quotadb/resp';
import type { Logger } from 'pino';
import { FailedLogins } from './failed-logins.js';
import { hostOf } from './host-of.js';

/** Hashed for unknown names, so that the time an attempt takes does not reveal which names exist. */
const DECOY = 'scrypt:16384:8:5:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

interface Waiting {
  readonly attempt: LoginAttempt;
  readonly answered: (answer: LoginAnswer) => void;
}

/** The attempts of one host, which take turns. */
interface Host {
  readonly name: string;
  readonly waiting: Waiting[];
  isHashing: boolean;
  /** Runs until the first of them may be checked. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Checks passwords for all lanes, on the main thread, with hashing in the background. Hashing is slow on purpose. So
 * that a thousand connections of one program do not cost a thousand hashes, a password that was right once is
 * recognised by a keyed digest, which is dropped when the process ends or the hash leaves the configuration.
 *
 * A host has one attempt checked at a time, and after failures none before the time that FailedLogins gives, whether
 * its password is right or not: guessing on many connections at once is no faster than on one. Hosts take turns, and
 * those that have failed lately leave one hash free for the others, so no host keeps another from logging in.
 */
export class LoginQueue {
  /** Hashes at once; each takes a thread of the pool and 16 MB. */
  static readonly CONCURRENT_HASHES = 2;
  /** Attempts of a host that wait for their turn, and those for one name among them; further ones are refused. */
  static readonly MAXIMUM_WAITING = 64;
  /** The last of them waits for eight seconds: less than the patience of most clients. */
  static readonly MAXIMUM_WAITING_PER_NAME = 8;

  readonly failed: FailedLogins;
  private readonly users: () => Users;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly digestKey = randomBytes(32);
  private readonly recognised = new Map<string, Buffer>();
  private readonly hosts = new Map<string, Host>();
  /** Hosts whose next attempt waits for a hash, in the order of their turns. */
  private readonly ready = new Set<Host>();
  private readonly hashing = { all: 0, ofFailed: 0 };
  private readonly matches: typeof passwordMatches;
  private readonly after: (milliseconds: number, callback: () => void) => NodeJS.Timeout;

  constructor(options: {
    users: () => Users;
    clock: Clock;
    logger: Logger;
    /** For tests. */
    after?: (milliseconds: number, callback: () => void) => NodeJS.Timeout;
    matches?: typeof passwordMatches;
  }) {
    this.users = options.users;
    this.clock = options.clock;
    this.failed = new FailedLogins(options.clock);
    this.logger = options.logger;
    this.matches = options.matches ?? passwordMatches;
    this.after = options.after ?? ((milliseconds, callback) => setTimeout(callback, milliseconds).unref());
  }

  login(attempt: LoginAttempt, answered: (answer: LoginAnswer) => void): void {
    const name = hostOf(attempt.address);
    // A token that no user has: tokens are too long to be guessed, so it need not wait for its turn.
    if (attempt.name === '' && attempt.known === false) {
      this.refuse(name, { attempt, answered });
      return;
    }
    const host = this.hosts.get(name) ?? { name, waiting: [], isHashing: false, timer: undefined };
    const ofName = host.waiting.filter(({ attempt: other }) => other.name === attempt.name).length;
    if (host.waiting.length >= LoginQueue.MAXIMUM_WAITING || ofName >= LoginQueue.MAXIMUM_WAITING_PER_NAME) {
      answered('busy');
      return;
    }
    this.hosts.set(name, host);
    host.waiting.push({ attempt, answered });
    this.serve(host);
  }

  /** The client at this address has gone: what still waits for its turn is not checked. */
  abandon(address: string): void {
    const host = this.hosts.get(hostOf(address));
    if (host === undefined) return;
    const gone = host.waiting.filter(({ attempt }) => attempt.address === address);
    for (const waiting of gone) {
      host.waiting.splice(host.waiting.indexOf(waiting), 1);
      waiting.answered('busy');
    }
    this.serve(host);
  }

  /** After a change of users: drops the digests of hashes that no user has any more. */
  dropStale(): void {
    const hashes = new Set([...this.users().values()].flatMap(({ passwords }) => passwords));
    for (const hash of this.recognised.keys()) if (!hashes.has(hash)) this.recognised.delete(hash);
  }

  /** Checks the attempts of a host whose time has come, one after another, until one needs a hash. */
  private serve(host: Host): void {
    clearTimeout(host.timer);
    host.timer = undefined;
    while (!host.isHashing && host.waiting.length > 0) {
      const nowMs = this.clock.monotonic();
      const times = host.waiting.map(({ attempt }) => this.failed.notBeforeMs(host.name, attempt.name));
      const index = times.findIndex((atMs) => atMs <= nowMs);
      if (index === -1) {
        this.ready.delete(host);
        host.timer = this.after(Math.min(...times) - nowMs, () => this.serve(host));
        return;
      }
      const waiting = host.waiting[index];
      const known = waiting.attempt.known ?? this.recognises(waiting.attempt);
      if (known === undefined && !this.hasHashFor(host)) {
        // A host that waits already keeps its place.
        this.ready.add(host);
        return;
      }
      host.waiting.splice(index, 1);
      if (known === undefined) this.hash(host, waiting);
      else this.settle(host, waiting, known);
    }
    this.ready.delete(host);
    if (!host.isHashing) this.hosts.delete(host.name);
  }

  private hasHashFor(host: Host): boolean {
    const { all, ofFailed } = this.hashing;
    if (all >= LoginQueue.CONCURRENT_HASHES) return false;
    return !this.failed.hasFailed(host.name) || ofFailed < LoginQueue.CONCURRENT_HASHES - 1;
  }

  private hash(host: Host, waiting: Waiting): void {
    const { hashing } = this;
    const hasFailed = this.failed.hasFailed(host.name);
    host.isHashing = true;
    hashing.all++;
    if (hasFailed) hashing.ofFailed++;
    const done = (isRight: boolean): void => {
      host.isHashing = false;
      hashing.all--;
      if (hasFailed) hashing.ofFailed--;
      this.settle(host, waiting, isRight);
      // Those that have not failed come first, and this host last.
      for (const next of this.ready) if (!this.failed.hasFailed(next.name) && this.hasHashFor(next)) this.serve(next);
      for (const next of this.ready) if (this.hasHashFor(next)) this.serve(next);
      this.serve(host);
    };
    this.isRight(waiting.attempt).then(done, (error: unknown) => {
      this.logger.error({ err: error }, 'a password could not be checked; the login was refused');
      done(false);
    });
  }

  private settle(host: Host, waiting: Waiting, isRight: boolean): void {
    if (!isRight) {
      this.refuse(host.name, waiting);
      return;
    }
    this.failed.clear(host.name, waiting.attempt.name);
    waiting.answered('right');
  }

  /** The answer takes as long as the host has to wait, so that a client that tries for ever does not spin. */
  private refuse(host: string, { attempt, answered }: Waiting): void {
    const { failures, delayMs } = this.failed.record(host, attempt.name);
    // Failures 1, 2, 4, 8 … are logged: an attack shows and does not fill the log.
    if ((failures & (failures - 1)) === 0)
      this.logger.warn({ address: host, user: attempt.name, failures }, 'login failed');
    this.after(delayMs, () => answered('wrong'));
  }

  private hashesOf(user: UserRecord | undefined): readonly string[] {
    return user === undefined || user.passwords.length === 0 ? [DECOY] : user.passwords;
  }

  /** True for a password that was right before; undefined for any other. */
  private recognises({ name, password }: LoginAttempt): true | undefined {
    const digest = this.digestOf(password);
    const isKnown = this.hashesOf(this.users().get(name)).some((hash) => {
      const known = this.recognised.get(hash);
      return known !== undefined && timingSafeEqual(known, digest);
    });
    return isKnown ? true : undefined;
  }

  private async isRight({ name, password }: LoginAttempt): Promise<boolean> {
    for (const hash of this.hashesOf(this.users().get(name))) {
      if (!(await this.matches(password, hash)) || hash === DECOY) continue;
      this.recognised.set(hash, this.digestOf(password));
      return true;
    }
    return false;
  }

  private digestOf(password: Uint8Array): Buffer {
    return createHmac('sha256', this.digestKey).update(password).digest();
  }
}
