import { type Answer, type Carry, ProblemError } from '@quotadb/http';
import type { ForwardAnswer, ForwardRequest } from '@quotadb/resp';
import { textOfBulk } from '../cluster/links/raw-replies.js';
import { clusterProblems, serverProblems } from './problems.js';

const ELSEWHERE_STATUS = serverProblems.key_elsewhere.status;
/** While slots move, the maps of two nodes differ for some milliseconds: neither has run the operation. */
const DIFFERENCE_MS = 1000;
const PAUSE_MS = 10;

/** Runs operations of HTTP in the group that owns their slot, over the connections that commands are carried on. */
export function carryOperations(forward: (request: ForwardRequest) => Promise<ForwardAnswer>): Carry {
  return async ({ slot, waitMs }, { method, target, body }) => {
    const words = [...['CLUSTER', 'OPERATION', method, target].map((word) => Buffer.from(word)), body];
    for (const untilMs = performance.now() + DIFFERENCE_MS; ; ) {
      const carried = readAnswer(await forward({ slot, words, protocol: 2, waitMs }));
      if (carried.status !== ELSEWHERE_STATUS) return carried;
      if (performance.now() > untilMs) throw new ProblemError(clusterProblems.map_changing);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
}

function readAnswer(answer: ForwardAnswer): Answer {
  if (!('error' in answer)) return JSON.parse(textOfBulk(answer.reply)) as Answer;
  const { group_unreachable, group_silent } = clusterProblems;
  const detail = answer.error.replace(/^[A-Z]+ /, '');
  throw new ProblemError(answer.mayHaveRun ? group_silent : group_unreachable, { detail });
}
