import { replicaIdOf } from '@quotadb/replication';
import { FrameKind, type TokensAnswer, type TokensWanted } from '@quotadb/wire';
import { describe, expect, test } from 'vitest';
import { MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import { PolicyBook } from '../home/policy-book.js';
import { MAXIMUM_LIMIT } from '../policies/policy.js';
import { type PolicyEnvelope, writeEnvelope } from '../policies/policy-envelope.js';
import { MAXIMUM_VERSION_AHEAD_MS, PolicyError, type PolicySet } from '../policies/policy-set.js';
import type { Seals } from '../policies/seals.js';
import { FrameGate, type Sender } from './frame-gate.js';

const CLUSTER = 'orders';
const NOW_MS = Date.UTC(2026, 5, 1);
const FORGED: PolicySet = { home: 'a', version: NOW_MS, lastNumber: 1, policies: [] };

/** A seal is the name of its region and the text. */
const seals: Seals = {
  seal: (text) => ({ certificate: 'a', signature: text }),
  findFault: (text, { certificate, signature }, region) =>
    certificate === region && signature === text ? undefined : 'the seal is wrong',
};

function originOf(region: string, incarnation = 1): Uint8Array {
  const origin = new Uint8Array(32).fill(incarnation);
  origin.set(replicaIdOf(CLUSTER, region));
  return origin;
}

function sender(region: string, mayRelay = false): Sender {
  return { region, origin: originOf(region), mayRelay };
}

function gateOf(region: string, isCertified = true): { gate: FrameGate; book: PolicyBook } {
  const book = new PolicyBook({
    home: 'a',
    region,
    incarnation: 'x',
    isNewIncarnation: true,
    hasDisk: false,
    nowMs: NOW_MS,
    skewBoundMs: 1000,
    isAlone: false,
    save: () => {},
  });
  const seal = isCertified ? seals : undefined;
  return { gate: new FrameGate({ region, book, cluster: CLUSTER, seals: () => seal }), book };
}

function sealed(set: PolicySet) {
  return seals.seal(`quotadb policies\n${JSON.stringify(set)}`);
}

describe('policies', () => {
  test('are taken over from the home, or with its seal from anybody, and from nobody else', () => {
    const { gate } = gateOf('b');
    const fault = (from: Sender, seal?: ReturnType<typeof sealed>, set = FORGED) =>
      gate.findSetFault(from, set, seal, NOW_MS);
    expect(fault(sender('a'))).toBeUndefined();
    expect(fault(sender('c'))).toMatch(/do not have the seal of region a/);
    expect(fault(sender('c', true))).toMatch(/do not have the seal of region a/);
    expect(fault(sender('c'), sealed(FORGED))).toBeUndefined();
    expect(fault(sender('c'), { ...sealed(FORGED), certificate: 'c' })).toBe('the seal is wrong');
    expect(fault(sender('c'), sealed(FORGED), { ...FORGED, lastNumber: 2 })).toBe('the seal is wrong');
  });

  test('do not replace those of the home, unless it has sealed them itself before it lost its directory', () => {
    const { gate, book } = gateOf('a');
    book.begin();
    expect(gate.findSetFault(sender('b', true), FORGED, undefined, NOW_MS)).toMatch(/do not have the seal/);
    expect(gate.findSetFault(sender('b'), FORGED, sealed(FORGED), NOW_MS)).toBeUndefined();
  });

  test('without certificates: never replace those that the home has written', () => {
    const { gate, book } = gateOf('a', false);
    expect(gate.findSetFault(sender('b'), FORGED, undefined, NOW_MS)).toBeUndefined();
    book.begin();
    book.define({ name: 'n', limit: 1, windowMs: 1000, allocator: 'a', shares: [], waitMs: 0 }, NOW_MS - 10);
    expect(gate.findSetFault(sender('b'), FORGED, undefined, NOW_MS)).toMatch(/has not written them/);
  });

  test.each([true, false])('of a version that nothing could follow are refused, certificates: %s', (isCertified) => {
    const { gate, book } = gateOf('b', isCertified);
    for (const version of [Number.MAX_SAFE_INTEGER, NOW_MS + MAXIMUM_VERSION_AHEAD_MS + 1])
      expect(gate.findSetFault(sender('a'), { ...FORGED, version }, undefined, NOW_MS)).toMatch(/ahead of the clock/);
    // A region that has one from an earlier release takes the next of the home.
    book.adopt({ ...FORGED, version: Number.MAX_SAFE_INTEGER }, NOW_MS);
    expect(book.adopt(FORGED, NOW_MS)).toBe(true);
  });

  test('come with routes to other regions from relays alone, and with their true origins', () => {
    const { gate } = gateOf('b');
    const reach = { region: 'd', origin: Buffer.from(originOf('d')).toString('hex'), hasDisk: true, hops: 1 };
    const envelope: PolicyEnvelope = { home: 'a', hasDisk: true, set: null, reaches: [reach] };
    expect(gate.openEnvelope(sender('c', true), writeEnvelope(envelope)).reaches).toEqual([reach]);
    expect(gate.openEnvelope(sender('c'), writeEnvelope(envelope)).reaches).toEqual([]);
    const stolen = { ...envelope, reaches: [{ ...reach, region: 'e' }] };
    expect(() => gate.openEnvelope(sender('c', true), writeEnvelope(stolen))).toThrow(/no incarnation of region e/);
    for (const hops of [0, 5, 1.5, Number.NaN]) {
      const far = { ...envelope, reaches: [{ ...reach, hops }] };
      expect(() => gate.openEnvelope(sender('c', true), writeEnvelope(far))).toThrow(/invalid list/);
    }
  });
});

describe('a request for tokens', () => {
  const wanted: TokensWanted = {
    kind: FrameKind.tokensWanted,
    origin: originOf('c'),
    fromRegion: 'c',
    toRegion: 'b',
    request: 1,
    policy: 1,
    policiesVersion: 1,
    window: 7,
    subject: new Uint8Array(3),
    need: 5,
    hops: 0,
  };
  const { gate } = gateOf('b');
  const fault = (given: Partial<TokensWanted>, from = sender('c')) =>
    gate.findTokenFault(from, { ...wanted, ...given });

  test('passes as the region that asks sends it, and through a relay', () => {
    expect(fault({})).toBeUndefined();
    expect(fault({ hops: 1 }, sender('hub', true))).toBeUndefined();
  });

  test.each([
    ['for another region, without the right to relay', {}, sender('d')],
    ['for another incarnation, which would fill the list of grantees', { origin: originOf('c', 2) }, sender('c')],
    ['for the origin of another region', { origin: originOf('d') }, sender('c')],
    ['for the origin of another region, through a relay', { origin: originOf('d') }, sender('hub', true)],
    ['from this region itself', { fromRegion: 'b', origin: originOf('b') }, sender('c', true)],
    ['for more than any limit', { need: MAXIMUM_LIMIT + 1 }, sender('c')],
    ['for a window that is none', { window: 0.5 }, sender('c')],
    ['for a window that is not finite', { window: Number.POSITIVE_INFINITY }, sender('c')],
    ['for a subject that is too long', { subject: new Uint8Array(MAXIMUM_SUBJECT_BYTES + 1) }, sender('c')],
    ['that has crossed too many links', { hops: 5 }, sender('hub', true)],
    ['from no region', { fromRegion: '' }, sender('hub', true)],
  ] as const)('is refused %s', (_, given, from) => {
    expect(fault(given, from)).toBeDefined();
  });

  test('is answered by the region that was asked, or through a relay', () => {
    const { need: _, policiesVersion: __, ...common } = wanted;
    const answer: TokensAnswer = {
      ...common,
      kind: FrameKind.tokensAnswer,
      fromRegion: 'c',
      toRegion: 'b',
      origin: originOf('b'),
      granted: 3,
    };
    expect(gate.findTokenFault(sender('c'), answer)).toBeUndefined();
    expect(gate.findTokenFault(sender('hub', true), answer)).toBeUndefined();
    expect(gate.findTokenFault(sender('d'), answer)).toMatch(/does not say relay/);
    expect(gate.findTokenFault(sender('c'), { ...answer, granted: MAXIMUM_LIMIT + 1 })).toMatch(/tokens/);
  });
});

test('tokens are wanted for windows of the calendar that the rules of this region make, and for no others', () => {
  const { gate, book } = gateOf('a');
  book.begin();
  const calendar = { unit: 'day', timeZone: 'Europe/Berlin', anchorDay: 1 } as const;
  const definition = { name: 'n', limit: 1, windowMs: 24 * 3_600_000, allocator: 'a', shares: [], waitMs: 0 };
  const { number } = book.define({ ...definition, calendar }, NOW_MS);
  const wanted = (window: number, toRegion = 'a'): TokensWanted => ({
    kind: FrameKind.tokensWanted,
    origin: originOf('b'),
    fromRegion: 'b',
    toRegion,
    request: 1,
    policiesVersion: 1,
    policy: number,
    window,
    subject: new Uint8Array(1),
    need: 1,
    hops: 0,
  });
  const fault = (frame: TokensWanted) => gate.findTokenFault(sender('b'), frame);
  const startMinutes = Date.parse('2026-05-31T22:00Z') / 60_000;
  const window = startMinutes * 2 ** 20 + 24 * 60;
  expect(fault(wanted(window))).toBeUndefined();
  for (const other of [window + 1, window - 60, window + 120 * 2 ** 20, Math.floor(NOW_MS / 86_400_000), -1])
    expect(fault(wanted(other)), String(other)).toBe(`it is for the window ${other}`);
  // A region between has nothing to say about it.
  expect(fault(wanted(window + 1, 'c'))).toBeUndefined();
});

test('a set with a catalogue that this region cannot read is not taken over', () => {
  const book = new PolicyBook({
    home: 'a',
    region: 'b',
    incarnation: 'x',
    isNewIncarnation: true,
    hasDisk: false,
    nowMs: NOW_MS,
    skewBoundMs: 1000,
    isAlone: false,
    save: () => {},
    catalogue: {
      check: (given) => {
        if (given !== 'known') throw new PolicyError('no such form');
      },
      apply: (change) => change,
      definitionsOf: () => [],
      written: (given) => given,
    },
  });
  const gate = new FrameGate({ region: 'b', book, cluster: CLUSTER, seals: () => undefined });
  expect(gate.findSetFault(sender('a'), { ...FORGED, catalogue: 'known' }, undefined, NOW_MS)).toBeUndefined();
  expect(gate.findSetFault(sender('a'), { ...FORGED, catalogue: 'other' }, undefined, NOW_MS)).toBe(
    'their catalogue of limits cannot be read: no such form',
  );
});
