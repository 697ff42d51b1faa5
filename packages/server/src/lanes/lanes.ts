import type { Call } from '../commands/command.js';
import type { ServerState } from '../server-state.js';
import { answers, type QuestionName, type Questions } from './questions.js';

/** How a lane reaches the others. */
export interface Lanes {
  readonly count: number;
  /** Which of them this is. */
  readonly index: number;
  /** All lanes' answers, this one's among them, later and on this lane's thread. */
  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
    answered: (answers: Questions[Name]['answer'][]) => void,
  ): void;
  /** The same to all lanes but this one, for what it does there; nobody waits for their answers. */
  tell<Name extends QuestionName>(name: Name, question: Questions[Name]['ask']): void;
}

/** A lane that is on its own. */
export const onlyLane: Lanes = {
  count: 1,
  index: 0,
  ask() {
    throw new Error('there is nobody to ask');
  },
  tell() {},
};

/** A lane that does not answer within this time is left out: whoever asked has waited long enough. */
const PATIENCE_MS = 5000;

/**
 * Asks every lane and calls `finish`, which writes the reply, when all have answered; until then this connection waits and
 * its lane goes on. Inside MULTI nothing waits: the answer is this lane's own, and the others hear of it soon after.
 */
export function askLanes<Name extends QuestionName>(
  call: Call,
  name: Name,
  question: Questions[Name]['ask'],
  finish: (call: Call, answers: Questions[Name]['answer'][]) => void,
): void {
  const { server, client } = call;
  if (server.lanes.count === 1) {
    finish(call, [answer(server, name, question)]);
    return;
  }
  let collected: Questions[Name]['answer'][] | undefined;
  let finished = false;
  call.suspend(PATIENCE_MS, (resumed) => {
    finished = true;
    finish(resumed, collected ?? [answer(server, name, question)]);
  });
  if (finished) {
    server.lanes.tell(name, question);
    return;
  }
  // It waits for us, not for anything it asked to wait for.
  client.blocked = false;
  server.lanes.ask(name, question, (all) => {
    if (finished) return;
    collected = all;
    client.connection.wake();
  });
}

export function answer<Name extends QuestionName>(
  state: ServerState,
  name: Name,
  question: Questions[Name]['ask'],
): Questions[Name]['answer'] {
  return answers[name](state, question);
}
