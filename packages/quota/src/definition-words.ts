import type { Definition } from './policy.js';
import { checkDefinition, PolicyError } from './policy-set.js';

/** Where no allocator is named it is the home. */
export type PartialDefinition = Omit<Definition, 'allocator'> & { readonly allocator: string | undefined };

/** What a caller waits for tokens of other regions where neither it nor the policy says. */
export const USUAL_WAIT_MS = 1000;

export const DEFINE_SYNTAX =
  'name LIMIT limit <WINDOW <milliseconds | NONE> | LEASE milliseconds> [ALLOCATOR region] [SHARE region fraction [SHARE …]] [ON-UNREACHABLE <DENY | WAIT milliseconds>]';

/** The words of a QUOTA.DEFINE, or of a quota in the configuration; throws a PolicyError. */
export function parseDefinition(words: readonly string[]): PartialDefinition {
  const [name, ...rest] = words;
  let limit = Number.NaN;
  let windowMs = Number.NaN;
  let leaseMs = 0;
  let allocator: string | undefined;
  let waitMs = USUAL_WAIT_MS;
  const shares: { region: string; fraction: number }[] = [];
  let at = 0;
  const next = () => {
    const word = rest[at++];
    if (word === undefined) throw new PolicyError(`something is missing at the end: ${DEFINE_SYNTAX}`);
    return word;
  };
  while (at < rest.length) {
    const word = next().toUpperCase();
    if (word === 'LIMIT') limit = whole(next());
    else if (word === 'WINDOW') windowMs = windowOf(next());
    else if (word === 'LEASE') leaseMs = leaseOf(next());
    else if (word === 'ALLOCATOR') allocator = next();
    else if (word === 'SHARE') shares.push({ region: next(), fraction: Number(next()) });
    else if (word === 'ON-UNREACHABLE') waitMs = next().toUpperCase() === 'DENY' ? 0 : waitOf(rest[at - 1], next());
    else throw new PolicyError(`'${word}' is not understood: ${DEFINE_SYNTAX}`);
  }
  if (leaseMs === 0 && Number.isNaN(windowMs))
    throw new PolicyError(
      'a WINDOW is needed: milliseconds, or NONE; or a LEASE where it limits how much may be held at once',
    );
  if (leaseMs > 0 && !Number.isNaN(windowMs)) throw new PolicyError('a quota has a WINDOW or a LEASE, not both');
  const lasting = leaseMs > 0 ? { windowMs: 0, leaseMs } : { windowMs };
  const definition = { name: name ?? '', limit, ...lasting, allocator, shares, waitMs };
  checkDefinition({ ...definition, allocator: allocator ?? 'home' });
  return definition;
}

export function printDefinition(definition: PartialDefinition): string {
  const { name, limit, windowMs, leaseMs = 0, allocator, shares, waitMs } = definition;
  return [
    `${name} LIMIT ${limit} ${leaseMs > 0 ? `LEASE ${leaseMs}` : `WINDOW ${windowMs === 0 ? 'NONE' : windowMs}`}`,
    ...(allocator === undefined ? [] : [`ALLOCATOR ${allocator}`]),
    ...shares.map(({ region, fraction }) => `SHARE ${region} ${fraction}`),
    `ON-UNREACHABLE ${waitMs === 0 ? 'DENY' : `WAIT ${waitMs}`}`,
  ].join(' ');
}

function windowOf(word: string): number {
  if (word.toUpperCase() === 'NONE') return 0;
  const windowMs = whole(word);
  if (windowMs === 0) throw new PolicyError('a window has at least 1 millisecond, or there is NONE');
  return windowMs;
}

function leaseOf(word: string): number {
  const leaseMs = whole(word);
  if (!(leaseMs >= 1)) throw new PolicyError('a lease holds for at least 1 millisecond');
  return leaseMs;
}

function waitOf(word: string, milliseconds: string): number {
  if (word.toUpperCase() !== 'WAIT')
    throw new PolicyError('ON-UNREACHABLE is followed by DENY, or by WAIT and milliseconds');
  return whole(milliseconds);
}

function whole(word: string): number {
  return /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN;
}
