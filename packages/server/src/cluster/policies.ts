import { digestOfShared, isEmptyShared, newerOf, type SharedSet } from '@quotadb/quota';
import type { PoliciesRequest, QuotaAnswer, QuotaRequest, SharedChange } from '@quotadb/resp';
import type { Logger } from 'pino';
import type { QuotaService } from '../quotas/service.js';
import type { Merged } from '../quotas/shared-changes.js';

/** How often the home of a group compares its policies with those of the others. */
const COMPARE_INTERVAL_MS = 2000;
/** A group that has not answered by then was not reached. */
const PATIENCE_MS = 4000;

/** `same`, or why not. */
export interface PoliciesOfGroup {
  readonly group: string;
  readonly state: 'same' | 'different' | 'unreachable';
  readonly reason: string;
}

export interface ClusterPoliciesOptions {
  readonly logger: Logger;
  readonly quotas: Pick<QuotaService, 'ask' | 'isHome' | 'shared'>;
  /** The names of the other groups of the map. */
  readonly otherGroups: () => readonly string[];
  /** Asks a member of a group over RESP; resolves with the text of its reply. */
  readonly askGroup: (group: string, words: readonly string[], timeoutMs: number) => Promise<string>;
}

/**
 * Quota policies and the catalogue of limits of a cluster. A change that a client makes is carried to all groups before
 * it is answered; the home of each group compares its policies with the others', so that one that was away catches up.
 */
export class ClusterPolicies {
  private readonly options: ClusterPoliciesOptions;
  private readonly states = new Map<string, PoliciesOfGroup>();
  private timer: NodeJS.Timeout | undefined = undefined;
  private isStopped = false;

  constructor(options: ClusterPoliciesOptions) {
    this.options = options;
  }

  start(): void {
    const again = async () => {
      await this.compareWithAll();
      if (this.isStopped) return;
      this.timer = setTimeout(() => void again(), COMPARE_INTERVAL_MS);
      this.timer.unref();
    };
    void again();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** At the home of a group, every other group by its name; empty elsewhere. */
  get groups(): readonly PoliciesOfGroup[] {
    return this.options.otherGroups().flatMap((group) => this.states.get(group) ?? []);
  }

  /** Answers a request of a client about quotas. */
  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    const { quotas } = this.options;
    const isForAll = request.kind === 'define' || request.kind === 'drop' || request.kind === 'catalogue';
    if (!isForAll || request.isShared || ('isAtStart' in request && request.isAtStart)) quotas.ask(request, answered);
    else
      quotas.ask({ ...request, isShared: true }, (own) => {
        if ('error' in own) answered(own);
        else void this.spread(own.value as SharedChange).then(answered);
      });
  }

  /** Another group asks, or sends what it has: `changes` is JSON, or empty. */
  receive({ digest, changes }: PoliciesRequest, answered: (answer: QuotaAnswer) => void): void {
    const { quotas } = this.options;
    if (changes === '') {
      const { shared } = quotas;
      answered({ value: digestOfShared(shared) === digest ? '' : JSON.stringify(shared) });
      return;
    }
    let shared: unknown;
    try {
      shared = JSON.parse(changes);
    } catch {
      answered({ error: 'these are no policies of a group' });
      return;
    }
    quotas.ask({ kind: 'shared', shared }, (answer) =>
      answered('error' in answer ? answer : { value: JSON.stringify(answer.value) }),
    );
  }

  /** The change holds in this group. */
  private async spread({ value, shared }: SharedChange): Promise<QuotaAnswer> {
    const groups = this.options.otherGroups();
    const faults = await Promise.all(groups.map((group) => this.send(group, shared)));
    const missing = groups.flatMap((group, index) => (faults[index] ? `${group} (${faults[index]})` : []));
    if (missing.length === 0) return { value };
    return {
      isPartial: true,
      error:
        `the change holds in ${groups.length + 1 - missing.length} of ${groups.length + 1} groups; missing: ` +
        `${missing.join(', ')}. A group that was away takes it over when it is back, and to repeat ` +
        'the change is harmless',
    };
  }

  /** Sends changes to a group; resolves with the reason where it does not have all of them. */
  private async send(group: string, shared: SharedSet): Promise<string | undefined> {
    try {
      const words = ['CLUSTER', 'POLICIES', '', JSON.stringify(shared)];
      const { refused } = JSON.parse(await this.options.askGroup(group, words, PATIENCE_MS)) as Merged;
      return refused.length === 0 ? undefined : `refused: ${refused.join('; ')}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  private async compareWithAll(): Promise<void> {
    const { quotas, otherGroups } = this.options;
    if (quotas.isHome) await Promise.all(otherGroups().map((group) => this.compareWith(group)));
    else this.states.clear();
  }

  /** Takes over newer policies from there, and sends newer ones from here. */
  private async compareWith(group: string): Promise<void> {
    const { askGroup, quotas } = this.options;
    try {
      const words = ['CLUSTER', 'POLICIES', digestOfShared(quotas.shared), ''];
      const text = await askGroup(group, words, PATIENCE_MS);
      if (text === '') return this.note({ group, state: 'same', reason: '' });
      const theirs = JSON.parse(text) as SharedSet;
      const merged = await this.merge(theirs);
      const newer = newerOf(quotas.shared, theirs);
      const fault = isEmptyShared(newer) ? undefined : await this.send(group, newer);
      const faults = [
        ...merged.map((reason) => `here: ${reason}`),
        ...(fault === undefined ? [] : [`there: ${fault}`]),
      ];
      this.note({ group, state: faults.length === 0 ? 'same' : 'different', reason: faults.join('; ') });
    } catch (error) {
      this.note({ group, state: 'unreachable', reason: (error as Error).message });
    }
  }

  private async merge(shared: unknown): Promise<readonly string[]> {
    const answer = await new Promise<QuotaAnswer>((resolve) =>
      this.options.quotas.ask({ kind: 'shared', shared }, resolve),
    );
    return 'error' in answer ? [answer.error] : (answer.value as Merged).refused;
  }

  private note(now: PoliciesOfGroup): void {
    const before = this.states.get(now.group);
    this.states.set(now.group, now);
    if (before?.state === now.state && before.reason === now.reason) return;
    const { logger } = this.options;
    if (now.state === 'different')
      logger.warn({ ...now }, 'the policies of another group differ from those of this one');
    else if (before?.state === 'different') logger.info({ ...now }, 'the policies of another group are the same again');
  }
}
