import type { EtcdCluster } from './etcd-cluster.js';

const KEYS = 30;
const LIFETIME_SECONDS = 100_000;
/** Gone long before a check. */
const SHORT_LIFE_MS = 1500;
const SUBJECTS = 12;
const LIMIT = 100;
const RATE_LIMIT = 1000;
const WINDOW = '30d';

/** Expiries, windows, rate limits and tokens of a cluster: what they are at its end, wherever its slots have been. */
export class LastingState {
  /** Of every server. */
  static readonly settings = ['--quota', `calls LIMIT ${LIMIT} WINDOW ${WINDOW}`];

  private readonly cluster: EtcdCluster;
  private readonly startedAtMs = Date.now();
  private readonly windowStarts: string[] = [];
  /** Tokens that were surely given, by subject. */
  private readonly taken = new Array<number>(SUBJECTS).fill(0);
  private at = 0;

  private constructor(cluster: EtcdCluster) {
    this.cluster = cluster;
  }

  /** At the members whose names begin so, which own all slots. */
  static async prepare(cluster: EtcdCluster, owner: string): Promise<LastingState> {
    const state = new LastingState(cluster);
    const [name] = state.membersOf(owner);
    const ask = (...words: readonly (string | number)[]) => cluster.ask(name, ...words);
    for (let index = 0; index < KEYS; index++) {
      await ask('SET', `lasting:${index}`, index, 'EX', LIFETIME_SECONDS);
      await ask('SET', `brief:${index}`, index, 'PX', SHORT_LIFE_MS);
      const [, count, start] = (await ask('WINDOW.INCRBY', `page:${index}`, WINDOW, index + 1)).split('\r\n');
      if (count !== `:${index + 1}`) throw new Error(`WINDOW.INCRBY has replied ${count}`);
      state.windowStarts.push(start.slice(1));
      await ask('RATE.LIMIT', `caller:${index}`, RATE_LIMIT, WINDOW, index + 1, 'PUBLISH', 0);
    }
    await state.takeSome();
    return state;
  }

  /** A token of every subject, at servers by turns; some may be dead, or moving what they have. */
  async takeSome(): Promise<void> {
    for (let subject = 0; subject < SUBJECTS; subject++) await this.take(subject);
  }

  /** Rejects where something has changed, at any of these members. */
  async check(owner: string): Promise<void> {
    const elapsedMs = Date.now() - this.startedAtMs;
    for (const name of this.membersOf(owner))
      for (let index = 0; index < KEYS; index++) {
        const ask = (...words: readonly (string | number)[]) => this.cluster.ask(name, ...words);
        expectSame(name, `lasting:${index}`, await ask('GET', `lasting:${index}`), bulk(index));
        const leftMs = integerIn(await ask('PTTL', `lasting:${index}`));
        const dueMs = LIFETIME_SECONDS * 1000 - elapsedMs;
        if (Math.abs(leftMs - dueMs) > 20_000)
          throw new Error(`${name}: lasting:${index} lives ${leftMs} ms, not ${dueMs}`);
        expectSame(name, `brief:${index}`, await ask('EXISTS', `brief:${index}`), ':0\r\n');
        const window = await ask('WINDOW.GET', `page:${index}`, WINDOW, 'START', this.windowStarts[index]);
        expectSame(name, `page:${index}`, window.split('\r\n')[1], `:${index + 1}`);
        const rate = await ask('RATE.PEEK', `caller:${index}`, RATE_LIMIT, WINDOW, 0);
        expectSame(name, `caller:${index}`, rate.split('\r\n')[3], `:${RATE_LIMIT - index - 1}`);
      }
    for (let subject = 0; subject < SUBJECTS; subject++) await this.drain(subject);
  }

  /** Until none is left for long enough: never more than the limit in all. */
  private async drain(subject: number): Promise<void> {
    for (let denials = 0; denials < 2 * this.cluster.names.length; )
      denials = (await this.take(subject)) ? 0 : denials + 1;
    const taken = this.taken[subject];
    if (taken > LIMIT) throw new Error(`${taken} tokens of s:${subject} were given, of ${LIMIT}`);
  }

  private async take(subject: number): Promise<boolean> {
    const { names } = this.cluster;
    const name = names[this.at++ % names.length];
    const reply = await this.cluster.ask(name, 'QUOTA.TAKE', 'calls', `s:${subject}`, 1).catch(() => '');
    const isTaken = /^\*\d\r\n:1\r\n/.test(reply);
    if (isTaken) this.taken[subject]++;
    return isTaken;
  }

  private membersOf(owner: string): readonly string[] {
    return this.cluster.names.filter((name) => name.startsWith(owner));
  }
}

function bulk(value: number): string {
  return `$${String(value).length}\r\n${value}\r\n`;
}

function integerIn(reply: string): number {
  return Number(reply.slice(1));
}

function expectSame(name: string, what: string, found: string, due: string): void {
  if (found !== due) throw new Error(`${name}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(due)}`);
}
