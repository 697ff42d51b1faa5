export interface LoginAttempt {
  readonly name: string;
  readonly password: Uint8Array;
  /** host:port of whoever tries. */
  readonly address: string;
  /** Whoever passes it on has found it wrong already: it is to be counted and delayed. */
  readonly isKnownWrong: boolean;
}

/** The way to whoever checks passwords and reads the configuration: the main thread, which is not every lane's. */
export interface Door {
  login(attempt: LoginAttempt, answered: (isRight: boolean) => void): void;
  /** Reads the configuration again, for all lanes. */
  reload(answered: (mistake: string | undefined) => void): void;
}

/** What a lane asks its main thread, and what it hears. */
export type DoorRequest = { readonly kind: 'login'; readonly attempt: LoginAttempt } | { readonly kind: 'reload' };
export type DoorAnswer = boolean | string | undefined;

/** One who lets nobody in; for sessions without a server around them. */
export const closedDoor: Door = {
  login: (_attempt, answered) => answered(false),
  reload: (answered) => answered('there is no configuration to read again'),
};

/** A door that is reached by messages. */
export function remoteDoor(ask: (request: DoorRequest, answered: (answer: DoorAnswer) => void) => void): Door {
  return {
    login: (attempt, answered) => ask({ kind: 'login', attempt }, (answer) => answered(answer === true)),
    reload: (answered) => ask({ kind: 'reload' }, (answer) => answered(answer as string | undefined)),
  };
}

/** The other end of it. */
export function answerAtDoor(door: Door, request: DoorRequest, answered: (answer: DoorAnswer) => void): void {
  if (request.kind === 'login') door.login(request.attempt, answered);
  else door.reload(answered);
}
