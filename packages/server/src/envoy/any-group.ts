import { type Carry, ElsewhereError } from '@quotadb/http';
import type { LaneCluster } from '@quotadb/resp';
import { withKeysHere } from '../http/key-access.js';

const FIRST_PROBLEM_STATUS = 400;

interface ProblemBody {
  readonly detail: string;
}

/** Work on a counter, for where its group is this one and for where it is another. */
export interface Work<Result> {
  readonly subjects: readonly Uint8Array[];
  /** How long it may wait for tokens. */
  readonly waitMs: number;
  readonly here: () => Promise<Result>;
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly body?: object;
  /** The result, of what the operation has answered. */
  readonly read: (answer: never) => Result;
}

/** Does work in the group of the cluster that owns the slot of its subjects; elsewhere it is an operation of HTTP. */
export class AnyGroup {
  readonly cluster: LaneCluster;
  private readonly carry: Carry;

  constructor(cluster: LaneCluster, carry: Carry) {
    this.cluster = cluster;
    this.carry = carry;
  }

  /** Rejects with the reason where it was not done, or where that is not known. */
  async run<Result>({ subjects, waitMs, here, method, target, body, read }: Work<Result>): Promise<Result> {
    try {
      return await withKeysHere(this.cluster, subjects, waitMs, here);
    } catch (error) {
      if (!(error instanceof ElsewhereError)) throw error;
      const text = body === undefined ? '' : JSON.stringify(body);
      const answer = await this.carry(error, { method, target, body: Buffer.from(text) });
      const answered = JSON.parse(answer.body);
      if (answer.status >= FIRST_PROBLEM_STATUS) throw new Error((answered as ProblemBody).detail);
      return read(answered as never);
    }
  }
}
