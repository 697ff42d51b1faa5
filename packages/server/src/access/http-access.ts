import type { Access } from '@quotadb/config';
import { hashToken, User, type Users } from '@quotadb/config';
import type { Credentials } from '@quotadb/http';
import type { AskMain, LoginAnswer } from '@quotadb/resp';

const BEARER = /^Bearer +([^ ]+) *$/i;
const BASIC = /^Basic +([A-Za-z0-9+/=]+) *$/i;

/**
 * Finds the user of an HTTP request. `Authorization: Bearer …` is looked up by digest, so that the time of a lookup
 * reveals nothing about tokens; `Basic …` is a name and a password, checked as AUTH does.
 */
export class HttpAccess {
  private readonly users: () => Users;
  private readonly access: Access;
  private readonly askMain: AskMain;
  private indexed: Users | undefined = undefined;
  private byToken: ReadonlyMap<string, User> = new Map();

  constructor(users: () => Users, access: Access, askMain: AskMain) {
    this.users = users;
    this.access = access;
    this.askMain = askMain;
  }

  get isOpen(): boolean {
    return this.access.isOpen;
  }

  /** The user of a caller without credentials; undefined where there must be some. */
  newcomer(): User | undefined {
    return this.access.newcomer();
  }

  /** Undefined where no user has this token. */
  byBearerToken(token: string): User | undefined {
    const users = this.users();
    if (users !== this.indexed) {
      this.indexed = users;
      this.byToken = new Map(
        [...users.values()].flatMap((record) => {
          const user = new User(record.name, record);
          return record.tokens.map((hash) => [hash, user] as const);
        }),
      );
    }
    return this.byToken.get(hashToken(token));
  }

  /** The bearer of a token; undefined where there is no token, or no user has it. */
  bearer(authorization: string | undefined): User | undefined {
    const token = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    return token === undefined ? undefined : this.byBearerToken(token);
  }

  /**
   * Undefined for missing or wrong credentials; wrong ones count as a failed login and take as long as one. `busy`
   * where too many logins from the same address wait, and this one was not checked.
   */
  async identify({ authorization, address, whenGone }: Credentials): Promise<User | 'busy' | undefined> {
    if (authorization === undefined) return this.access.newcomer();
    const token = BEARER.exec(authorization)?.[1];
    if (token !== undefined) {
      const user = this.byBearerToken(token);
      if (user === undefined) await this.ask('', Buffer.alloc(0), address, false);
      return user;
    }
    const credentials = BASIC.exec(authorization)?.[1];
    if (credentials === undefined) return undefined;
    const [name, ...rest] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
    const password = Buffer.from(rest.join(':'));
    const stopWatching = whenGone(() => this.askMain('abandonLogin', address));
    const answer = await this.ask(name, password, address, this.access.checkAtOnce(name, password));
    stopWatching();
    if (answer === 'busy') return answer;
    return answer === 'right' ? this.access.find(name) : undefined;
  }

  private ask(name: string, password: Uint8Array, address: string, known: boolean | undefined): Promise<LoginAnswer> {
    return new Promise((resolve) => this.askMain('login', { name, password, address, known }, resolve));
  }
}
