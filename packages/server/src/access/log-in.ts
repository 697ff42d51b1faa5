import type { Call } from '../commands/command.js';
import { errors } from '../errors.js';

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
  let verdict: boolean | undefined = known;
  let finished = false;
  call.suspend(PATIENCE_MS, (resumed) => {
    finished = true;
    if (verdict === true) admit(resumed);
    else resumed.reply.error(verdict === false ? errors.wrongPassword : errors.loginUndecided);
  });
  // It waits for us, not for anything it asked to wait for.
  client.blocked = false;
  server.door.login(attempt, (isRight) => {
    verdict = isRight;
    if (!finished) client.connection.wake();
  });
}
