import { errors } from '../errors/errors.js';
import { awaitAnswer } from './await-answer.js';
import type { Call } from './command.js';

/** Longer than the longest delay and any queue of hashes. */
const PATIENCE_MS = 60_000;

/**
 * Makes the client of this call the user whose password it gave, and lets `admitted` write the reply; or replies that the
 * password is wrong, later, while this connection waits and no other.
 */
export function logIn(call: Call, name: string, password: Uint8Array, admitted: (call: Call) => void): void {
  const { client, server } = call;
  const admit = (then: Call): void => {
    const user = server.access.find(name);
    if (user === undefined) {
      then.reply.error(errors.wrongPassword);
      return;
    }
    client.become(user);
    admitted(then);
  };
  const known = server.access.checkAtOnce(name, password);
  if (known === true) {
    admit(call);
    return;
  }
  const attempt = { name, password: password.slice(), address: client.address, isKnownWrong: known === false };
  awaitAnswer<boolean>(
    call,
    PATIENCE_MS,
    (answered) => server.askMain('login', attempt, answered),
    (resumed, isRight) => {
      if (isRight?.value === true) admit(resumed);
      else if (isRight === undefined && known === undefined) resumed.reply.error(errors.loginUndecided);
      else resumed.reply.error(errors.wrongPassword);
    },
  );
}
