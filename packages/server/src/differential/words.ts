/** A command's words. A character stands for one byte, so that any byte can be written in one. */
export type Words = readonly string[];

/** The values and expiries among the words of a command, as Redis reads them: they decide if it can be compared. */

const CANONICAL_INTEGER = /^(0|-?[1-9][0-9]*)$/;

/** The number where Redis takes the word for a signed 64-bit one. */
export function asInt64(word: string): bigint | undefined {
  if (!CANONICAL_INTEGER.test(word)) return undefined;
  const value = BigInt(word);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** The words that the command would store as values. */
export function setValues(command: Words): Words {
  switch (command[0].toLowerCase()) {
    case 'set':
    case 'setnx':
    case 'getset':
      return command.slice(2, 3);
    case 'setex':
    case 'psetex':
      return command.slice(3, 4);
    case 'mset':
    case 'msetnx':
      return command.filter((_, index) => index > 0 && index % 2 === 0);
    default:
      return [];
  }
}

interface ExpiryArgument {
  readonly amount: bigint;
  readonly unitMs: 1 | 1000;
  readonly fromNow: boolean;
}

const UNITS: Readonly<Record<string, Omit<ExpiryArgument, 'amount'>>> = {
  ex: { unitMs: 1000, fromNow: true },
  px: { unitMs: 1, fromNow: true },
  exat: { unitMs: 1000, fromNow: false },
  pxat: { unitMs: 1, fromNow: false },
};

/** Which unit the commands with the time as their second argument have. */
const COMMAND_UNITS: Readonly<Record<string, string>> = {
  expire: 'ex',
  pexpire: 'px',
  expireat: 'exat',
  pexpireat: 'pxat',
  setex: 'ex',
  psetex: 'px',
};

/** The times of expiry in the command, as far as they are numbers. */
export function expiryArguments(command: Words): ExpiryArgument[] {
  const name = command[0].toLowerCase();
  const found: [unit: string, amount: string | undefined][] = [];
  const commandUnit = COMMAND_UNITS[name];
  if (commandUnit !== undefined) found.push([commandUnit, command[2]]);
  if (name === 'set' || name === 'getex') {
    command.forEach((word, index) => {
      if (word.toLowerCase() in UNITS) found.push([word.toLowerCase(), command[index + 1]]);
    });
  }
  return found.flatMap(([unit, word]) => {
    const amount = word === undefined ? undefined : asInt64(word);
    return amount === undefined ? [] : [{ ...UNITS[unit], amount }];
  });
}
