import { errors } from '../errors/errors.js';
import type { LoginAnswer } from '../services/main-services.js';
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
  if (known === true && server.access.isOpen) {
    admit(call);
    return;
  }
  // Also where it is known: a client that guesses must not learn sooner that a guess was right than that it was wrong.
  const attempt = { name, password: password.slice(), address: client.address, known };
  awaitAnswer<LoginAnswer>(
    call,
    PATIENCE_MS,
    (answered) => {
      client.gone = () => server.askMain('abandonLogin', client.address);
      server.askMain('login', attempt, answered);
    },
    (resumed, answer) => {
      if (answer === undefined) client.gone?.();
      client.gone = undefined;
      if (answer?.value === 'right') admit(resumed);
      else if (answer?.value === 'wrong') resumed.reply.error(errors.wrongPassword);
      else resumed.reply.error(answer === undefined ? errors.loginUndecided(PATIENCE_MS) : errors.loginBusy);
    },
  );
}
