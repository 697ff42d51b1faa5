import { awaitAnswer } from '../session/await-answer.js';
import type { Call } from '../session/command.js';
import type { QuestionName, Questions } from '../session/questions.js';
import { answer } from './answers.js';

/** A command that asks every lane waits this long at most, and then replies with the answer of its own lane. */
const PATIENCE_MS = 5000;

/**
 * Asks every lane and calls `finish`, which writes the reply, when all have answered. Inside EXEC commands do not wait:
 * the reply is this lane's own answer, and the question is sent to the others for its effect there.
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
    if (lanes.count > 1) lanes.notifyOthers(name, question);
    return;
  }
  awaitAnswer<Questions[Name]['answer'][]>(
    call,
    PATIENCE_MS,
    (answered) => lanes.ask(name, question, answered),
    (resumed, answers) => finish(resumed, answers?.value ?? [answer(server, name, question)]),
  );
}
