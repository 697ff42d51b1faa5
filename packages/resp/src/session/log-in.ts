import { errors } from '../errors/errors.js';
import { awaitAnswer } from './await-answer.js';
import type { Call } from './command.js';

/** Longer than the longest delay after a failure and the longest queue of logins. */
const PATIENCE_MS = 60_000;

/**
 * Logs the client of this call in as a user, and lets `admitted` write the reply; or replies that the password is
 * wrong. Only this connection waits while the main thread checks the password.
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
      else if (isRight === undefined && known === undefined) resumed.reply.error(errors.loginUndecided(PATIENCE_MS));
      else resumed.reply.error(errors.wrongPassword);
    },
  );
}
