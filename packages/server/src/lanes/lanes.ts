import type { Call } from '../commands/command.js';
import type { ServerState } from '../server-state.js';
import { awaitAnswer } from '../session/await-answer.js';
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

/** A command that asks every lane waits this long at most, and then replies with what its own lane knows. */
const PATIENCE_MS = 5000;

/**
 * Asks every lane and calls `finish`, which writes the reply, when all have answered. Inside EXEC no command waits: the
 * reply is this lane's own answer, and the question is sent to the others for what it does there.
 */
export function askLanes<Name extends QuestionName>(
  call: Call,
  name: Name,
  question: Questions[Name]['ask'],
  finish: (call: Call, answers: Questions[Name]['answer'][]) => void,
): void {
  const { server, executing } = call;
  const { lanes } = server;
  if (lanes.count === 1 || executing) {
    finish(call, [answer(server, name, question)]);
    if (lanes.count > 1) lanes.tell(name, question);
    return;
  }
  awaitAnswer<Questions[Name]['answer'][]>(
    call,
    PATIENCE_MS,
    (answered) => lanes.ask(name, question, answered),
    (resumed, answers) => finish(resumed, answers?.value ?? [answer(server, name, question)]),
  );
}

export function answer<Name extends QuestionName>(
  state: ServerState,
  name: Name,
  question: Questions[Name]['ask'],
): Questions[Name]['answer'] {
  return answers[name](state, question);
}
