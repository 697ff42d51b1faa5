import type { Random } from '@quotadb/engine/testing';
import { type PolicySet, type Seal, textOfSet, windowAt, writeEnvelope } from '@quotadb/quota';
import { FrameKind } from '@quotadb/wire';
import type { NodeProcess } from '../world/process.js';
import { sealsOf } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

const FORGED_FACTOR = 1000;

/** Sends all neighbours policies with far higher limits, in the name of the home. The home itself would be believed. */
export function forgePolicies(process: NodeProcess, random: Random): void {
  const { book, links } = quotasOf(process);
  if (book.isHome || book.set === undefined) return;
  const { node, region } = process;
  const version = random.pick([
    Number.MAX_SAFE_INTEGER,
    node.wallMs() + 3600 * 1000,
    book.version + 1,
    book.version + FORGED_FACTOR,
  ]);
  const policies = book.set.policies.map((policy) => ({ ...policy, limit: policy.limit * FORGED_FACTOR }));
  const set: PolicySet = { ...book.set, version, policies };
  const seals: readonly (Seal | undefined)[] = [undefined, book.seal, sealsOf(region).seal(textOfSet(set))];
  node.cluster.said(`${process.label} forges policies of version ${version}`);
  const frame = writeEnvelope({ home: book.home, hasDisk: true, set, seal: random.pick(seals), reaches: [] });
  for (const link of links.values()) link.send(frame);
}

/**
 * Asks all neighbours for all tokens, for an incarnation of its own that does not exist: no process could spend them.
 */
export function forgeRequest(process: NodeProcess, subjects: readonly string[], random: Random): void {
  const { book, links } = quotasOf(process);
  const { node, engine, region } = process;
  const origin = Uint8Array.from(node.origin);
  origin[origin.length - 1] ^= 1 + random.below(255);
  node.cluster.said(`${process.label} asks for tokens for an incarnation that does not exist`);
  for (const policy of book.list())
    for (const [toRegion, link] of links)
      for (const subject of subjects)
        link.send({
          kind: FrameKind.tokensWanted,
          origin,
          fromRegion: region,
          toRegion,
          request: random.below(1000),
          policy: policy.number,
          policiesVersion: book.version,
          window: windowAt(policy, engine.nowMs),
          subject: Uint8Array.from(Buffer.from(subject)),
          need: policy.limit,
          hops: 0,
        });
}
