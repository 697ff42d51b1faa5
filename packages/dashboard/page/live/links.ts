import type { PeerFigures, TokenFlow } from '../../src/snapshot.js';
import { growth, knownRegions, regions } from './regions.js';

/** A link as one of its ends sees it. */
export interface Link {
  readonly from: string;
  readonly to: string;
  readonly peer: PeerFigures;
}

export type Dot = 'good' | 'warn' | 'bad' | '';

/** A longer lag is shown as a warning. */
const NOTABLE_LAG_MS = 1000;

/** By the figures of the regions that answer. */
export function allLinks(): Link[] {
  return knownRegions().flatMap(({ source, snapshot }) =>
    (snapshot.replication?.peers ?? []).map((peer) => ({ from: source.region, to: peer.region, peer })),
  );
}

/** Every region that the page asks, or that one of those knows of. */
export function allNames(links: readonly Link[]): string[] {
  return [...new Set([...regions.value.keys(), ...links.map(({ to }) => to)])].sort();
}

export function stateOfLink({ state, lagMs }: PeerFigures): Dot {
  if (state !== 'connected') return 'bad';
  return lagMs > NOTABLE_LAG_MS || lagMs < 0 ? 'warn' : 'good';
}

const PEER_WORDS: Readonly<Record<string, string>> = {
  connected: 'connected',
  connecting: 'never answered',
  away: 'no answer',
  refused: 'refused',
  forgotten: 'given up',
};

export function wordsOfPeer({ state, joinedPercent }: PeerFigures): string {
  const words = PEER_WORDS[state] ?? state;
  return joinedPercent < 100 ? `${words}, ${joinedPercent} % copied` : words;
}

/** Whether a region runs: by its own answer where the page asks it, else by what others hear of it. */
export function stateOfRegion(name: string, links: readonly Link[]): { readonly dot: Dot; readonly words: string } {
  const region = regions.value.get(name);
  if (region?.state === 'connected') return { dot: 'good', words: 'up' };
  if (region?.state === 'silent') return { dot: 'bad', words: 'down' };
  if (region !== undefined) return { dot: '', words: 'asking …' };
  const seen = links.filter(({ to }) => to === name);
  if (seen.some(({ peer }) => peer.state === 'connected')) return { dot: 'good', words: 'up' };
  return { dot: 'bad', words: seen.length === 0 ? 'not known' : wordsOfPeer(seen[0].peer) };
}

/** Regions that do not answer the page, or that no region which does can reach. */
export function deadRegions(): readonly string[] {
  const links = allLinks();
  return allNames(links).filter((name) => stateOfRegion(name, links).dot === 'bad');
}

export function pairOf(one: string, other: string): string {
  return [one, other].sort().join(' – ');
}

/** Links that are lost between regions that run. */
export function lostLinks(): readonly string[] {
  const dead = deadRegions();
  const lost = allLinks().filter(
    ({ from, to, peer }) => stateOfLink(peer) === 'bad' && !dead.includes(from) && !dead.includes(to),
  );
  return [...new Set(lost.map(({ from, to }) => pairOf(from, to)))];
}

/** Pairs of regions whose link is in the figures of neither end. */
export function unseenPairs(links: readonly Link[]): readonly (readonly [string, string])[] {
  const seen = new Set(links.map(({ from, to }) => pairOf(from, to)));
  const names = allNames(links);
  return names.flatMap((one, index) =>
    names
      .slice(index + 1)
      .filter((other) => !seen.has(pairOf(one, other)))
      .map((other) => [one, other] as const),
  );
}

export interface Flow {
  readonly from: string;
  readonly to: string;
  readonly tokensPerSecond: number;
}

/** Tokens of quotas that went either way in the last ten seconds; by the figures of the giving region, if known. */
export function flowsBetween(one: string, other: string): Flow[] {
  return [flow(one, other), flow(other, one)].filter(({ tokensPerSecond }) => tokensPerSecond > 0);
}

function flow(giver: string, taker: string): Flow {
  const amount = (of: string, about: string, pick: (one: TokenFlow) => number) => {
    const region = regions.value.get(of);
    if (region?.state !== 'connected') return null;
    return growth(region.recent, (one) => {
      const found = one.tokenFlow.find((other) => other.region === about);
      return found === undefined ? 0 : pick(found);
    });
  };
  const given = amount(giver, taker, (one) => one.givenTotal);
  return { from: giver, to: taker, tokensPerSecond: given ?? amount(taker, giver, (one) => one.receivedTotal) ?? 0 };
}
