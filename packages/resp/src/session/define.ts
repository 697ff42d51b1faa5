import type { Command } from './command.js';

/** Left out of a declaration where it is the usual: a command of constant cost, and one without arguments. */
const USUAL = { complexity: 'O(1)', syntax: '' } as const;

type Declaration<Shared> = Omit<Command, keyof Shared | keyof typeof USUAL> & Partial<Command>;

/** Declares one command. */
export function defineCommand(declaration: Declaration<object>): Command {
  return { ...USUAL, ...declaration };
}

/** For commands that share a part of their declaration: each states the rest, and may overrule the shared part. */
export function defineFamily<Shared extends Partial<Command>>(
  shared: Shared,
): (declaration: Declaration<Shared>) => Command {
  return (declaration) => ({ ...USUAL, ...shared, ...declaration }) as Command;
}
