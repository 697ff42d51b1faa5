import { regionOfServer, SERVER_NAME } from '@quotadb/wire';
import { type Policy, reachMs, windowStartMs } from './policy.js';

/**
 * The members of a region, and how its tokens are divided among them at the start of an allotment: in equal parts, so
 * that new subjects are admitted whichever member is down.
 *
 * It is agreed data: a part of the policies, written by the home alone. The invariant: **of any allotment, the parts
 * that servers start with never come to more than the region's tokens, whichever version of the policies each of them
 * has.** So no server gains before all others have given up:
 *
 *   1  the home proposes a step. A server that knows it starts windows that no server can have touched before it with
 *      the smaller of its part before the step and its part after it;
 *   2  when every server that the home knows holds the proposal, the home writes that it is agreed. Windows that no
 *      server can have touched before that are divided by the step.
 *
 * A server that has lost its memory, the home too, learns the policies from one that holds the proposal at least, as
 * all do. Windows that begin between the two are short of what some give up and none has gained: for moments, because
 * nothing is proposed that cannot be agreed at once.
 */
export interface Division {
  readonly region: string;
  /** In the order in which they were written; only the last one may be proposed. */
  readonly steps: readonly DivisionStep[];
}

export interface DivisionStep {
  /** Names of servers, in their order by name. */
  readonly members: readonly string[];
  /** By the clock of the home. */
  readonly proposedMs: number;
  /** Absent while it is proposed. */
  readonly agreedMs?: number | undefined;
  /** Of policies when it was agreed: those that came later know no other division. */
  readonly lastNumber?: number | undefined;
}

/** The last step of a division. */
export interface Divided {
  readonly region: string;
  readonly members: readonly string[];
  readonly isAgreed: boolean;
}

/** A change of the members of a region, and the servers that it waits for. */
export interface Awaited {
  readonly region: string;
  readonly servers: readonly string[];
}

/** A server that the home knows. */
export interface KnownServer {
  readonly name: string;
  /** Of the policies that it holds; undefined where the home does not reach it, over its own links or others'. */
  readonly version: number | undefined;
  /** Its release divides tokens; one that does not would start with all of them. */
  readonly divides: boolean;
}

const MAXIMUM_DIVISIONS = 64;
const MAXIMUM_STEPS = 64;
const MAXIMUM_MEMBERS = 16;

/** The part of a region's tokens that one of its servers starts an allotment with. */
export function partOf(
  division: Division | undefined,
  { name, amount, policy, window, skewBoundMs }: PartRequest,
): number {
  const startMs = windowStartMs(policy, window);
  const isLater = (atMs: number) => startMs > atMs + 2 * skewBoundMs + reachMs(policy, skewBoundMs);
  let part = regionOfServer(name) === name ? amount : 0;
  for (const { members, proposedMs, agreedMs, lastNumber = Number.POSITIVE_INFINITY } of division?.steps ?? []) {
    const next = equalPart(members, name, amount);
    const isAgreedFor = agreedMs !== undefined && (policy.number > lastNumber || isLater(agreedMs));
    if (isAgreedFor) part = next;
    else if (isLater(proposedMs)) part = Math.min(part, next);
  }
  return part;
}

interface PartRequest {
  readonly name: string;
  /** The tokens of the region. */
  readonly amount: number;
  readonly policy: Policy;
  readonly window: number;
  readonly skewBoundMs: number;
}

/** The parts come to the amount: the first members have one token more where it cannot be divided. */
function equalPart(members: readonly string[], name: string, amount: number): number {
  const place = members.indexOf(name);
  if (place === -1) return 0;
  return Math.floor(amount / members.length) + (place < amount % members.length ? 1 : 0);
}

/** The servers that start with the tokens of a region, or of one server, of a policy that is defined now. */
export function startingServers(divisions: readonly Division[] | undefined, regionOrServer: string): readonly string[] {
  const agreed = divisions?.find(({ region }) => region === regionOrServer)?.steps.filter(isAgreed);
  return agreed?.at(-1)?.members ?? [regionOrServer];
}

export interface DivideContext {
  readonly nowMs: number;
  readonly version: number;
  readonly lastNumber: number;
  /** The home among them. */
  readonly servers: readonly KnownServer[];
  /** Servers that are gone for good, by the word of an operator. */
  readonly removed: ReadonlySet<string>;
  /** Regions that policies give tokens to: their lone servers may have started with them. */
  readonly starting: ReadonlySet<string>;
}

/** At the home: the next step of every region that needs one; the same list where none does. */
export function divide(
  divisions: readonly Division[] | undefined,
  context: DivideContext,
): readonly Division[] | undefined {
  const known = divisions ?? [];
  let changed = known;
  for (const before of allDivisions(known, context)) {
    const next = nextStep(before, context);
    if (next === undefined || findMissing(context, next.holders, next.version).length > 0) continue;
    changed = [...changed.filter((division) => division !== before), next.after];
  }
  return changed === known || changed.length > MAXIMUM_DIVISIONS ? divisions : changed;
}

/** At the home: the servers that a next step waits for. They cannot be reached, or do not hold the last one yet. */
export function findAwaited(divisions: readonly Division[] | undefined, context: DivideContext): Awaited[] {
  return allDivisions(divisions ?? [], context).flatMap((division) => {
    const next = nextStep(division, context);
    const servers = next === undefined ? [] : findMissing(context, next.holders, next.version);
    return servers.length === 0 ? [] : [{ region: division.region, servers }];
  });
}

/** Of every region that has members, or had. */
function allDivisions(known: readonly Division[], { servers }: DivideContext): Division[] {
  const members = servers.map(({ name }) => name).filter(isMember);
  const regions = new Set([...known.map(({ region }) => region), ...members.map(regionOfServer)]);
  return [...regions].sort().map((region) => {
    return known.find((division) => division.region === region) ?? { region, steps: [] };
  });
}

interface NextStep {
  readonly after: Division;
  /** All servers must hold this version first, these among them; undefined: nothing is waited for. */
  readonly holders?: readonly string[];
  readonly version?: number;
}

function nextStep(division: Division, context: DivideContext): NextStep | undefined {
  const { region, steps } = division;
  const { lastNumber, servers, starting, removed } = context;
  const last = steps.at(-1);
  const nowMs = Math.max(context.nowMs, last?.agreedMs ?? last?.proposedMs ?? 0);
  const agreement = { agreedMs: nowMs, lastNumber };
  if (last !== undefined && !isAgreed(last)) {
    const holders = [...(steps.at(-2)?.members ?? [region]), ...last.members];
    const after = { region, steps: [...steps.slice(0, -1), { ...last, ...agreement }] };
    return { after, holders, version: context.version };
  }
  const here = servers.filter(({ name }) => regionOfServer(name) === region).map(({ name }) => name);
  const lone = here.includes(region) || starting.has(region) ? [region] : [];
  const before = last?.members ?? lone;
  const left = before.filter((name) => !removed.has(name));
  const members = [...new Set([...left, ...here])].sort();
  const isPossible = members.length > 0 && members.length <= MAXIMUM_MEMBERS && steps.length < MAXIMUM_STEPS;
  if (!isPossible || members.join() === before.join()) return undefined;
  // No server has started with the region's tokens that could give them up.
  const isFirst = left.length === 0;
  if (isFirst) return { after: { region, steps: [...steps, { members, proposedMs: nowMs, ...agreement }] } };
  // Not before it can be agreed at once: while it is proposed, some tokens are out of use.
  return { after: { region, steps: [...steps, { members, proposedMs: nowMs }] }, holders: left, version: 0 };
}

/** Of the servers that are known, and those that are concerned: who is not reached, or does not hold this version. */
function findMissing(
  { servers, removed }: DivideContext,
  concerned: readonly string[] = [],
  version: number | undefined,
): string[] {
  if (version === undefined) return [];
  const holds = ({ name, version: held, divides }: KnownServer) =>
    held !== undefined && held >= version && (divides || !concerned.includes(name));
  const isKnown = (name: string) => removed.has(name) || servers.some((server) => server.name === name);
  const missing = servers.filter((server) => !holds(server)).map(({ name }) => name);
  return [...new Set([...missing, ...concerned.filter((name) => !isKnown(name))])].sort();
}

/** Without dates that are later than now. */
export function dateDivisionsAnew(divisions: readonly Division[], nowMs: number): readonly Division[] {
  const dateAnew = ({ proposedMs, agreedMs, ...step }: DivisionStep): DivisionStep => ({
    ...step,
    proposedMs: Math.min(proposedMs, nowMs),
    ...(agreedMs !== undefined && { agreedMs: Math.min(agreedMs, nowMs) }),
  });
  return divisions.map(({ region, steps }) => ({ region, steps: steps.map(dateAnew) }));
}

/** Whether the divisions of a set from a peer or a file have the shape of such. */
export function areDivisions(given: readonly Division[]): boolean {
  return (
    Array.isArray(given) &&
    given.length <= MAXIMUM_DIVISIONS &&
    given.every(isDivision) &&
    new Set(given.map(({ region }) => region)).size === given.length
  );
}

function isDivision({ region, steps }: Division): boolean {
  const isStep = (step: DivisionStep, index: number) =>
    Array.isArray(step.members) &&
    step.members.length > 0 &&
    step.members.length <= MAXIMUM_MEMBERS &&
    step.members.every((name) => SERVER_NAME.test(name) && regionOfServer(name) === region) &&
    new Set(step.members).size === step.members.length &&
    Number.isFinite(step.proposedMs) &&
    (isAgreed(step)
      ? Number.isFinite(step.agreedMs) && Number.isSafeInteger(step.lastNumber)
      : index === steps.length - 1);
  return Array.isArray(steps) && steps.length > 0 && steps.length <= MAXIMUM_STEPS && steps.every(isStep);
}

function isAgreed({ agreedMs }: DivisionStep): boolean {
  return agreedMs !== undefined;
}

function isMember(name: string): boolean {
  return regionOfServer(name) !== name;
}
