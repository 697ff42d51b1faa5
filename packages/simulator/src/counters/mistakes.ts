import { type Batch, type Engine, type Merge, splitInt64 } from '@quotadb/engine';
import { MISTAKES as ENGINE_MISTAKES, withKey } from '@quotadb/engine/testing';
import type { Link, Replica } from '@quotadb/replication';
import { type Digests, FrameKind, type Inventory } from '@quotadb/wire';
import type { Mistake } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';

/** Those of the engine that need no more than an engine and a merge. */
const engineMistakes: Mistake[] = ENGINE_MISTAKES.flatMap(({ name, plant }) =>
  plant === undefined
    ? []
    : [{ name, plant: ({ engine, replica }: NodeProcess) => plant({ engine, merge: replica.merge }) }],
);

export const COUNTER_MISTAKES: readonly Mistake[] = [
  ...engineMistakes,
  { name: 'a node that lost its state takes up its old identity', keepsIncarnation: true },
  {
    name: 'what others counted is added to the own counts',
    plant: ({ engine, replica }) => afterApply(replica.merge, (batch) => republish(engine, batch)),
  },
  {
    name: 'a change is sent before the disk holds it',
    plant: ({ replica }) => Object.assign(replica, { durable: undefined }),
  },
  {
    name: 'a change is acknowledged for good before the disk holds it',
    plant: ({ replica }) => Object.assign(replica, { durableOfOther: undefined }),
  },
  {
    name: 'a relay collects what others ended before all peers have acknowledged it',
    plant: ({ engine }) =>
      Object.assign(engine.garbageCollection, { acknowledgedOther: () => Number.POSITIVE_INFINITY }),
  },
  {
    name: 'a reset is withdrawn before all peers have acknowledged the end of what it cancelled',
    plant: ({ engine, replica }) => afterApply(replica.merge, (batch) => letGoCancels(engine, batch)),
  },
  {
    name: 'a gap is not asked for again',
    plant: ({ replica }) => {
      const { incoming } = replica;
      const options = { ...partOf<object>(incoming, 'options'), stallMs: Number.POSITIVE_INFINITY };
      Object.assign(incoming, { requestAgain: () => {}, options });
    },
  },
  {
    name: 'repair drops changes newer than the other replica has seen',
    plant: ({ replica }) => dropWhatIsNotListed(replica),
  },
  {
    name: 'digests are compared at different watermarks, and what the other does not hold is dropped',
    plant: ({ replica }) => compareUnaligned(replica),
  },
  {
    name: 'a view is taken for as fresh as the moment when the claim arrived',
    plant: ({ replica }) => {
      const noteClaim = replica.freshness.noteClaim.bind(replica.freshness);
      Object.assign(replica.freshness, {
        noteClaim: (origin: string, versions: readonly number[]) =>
          noteClaim(origin, versions, replica.clock.monotonicMs()),
      });
    },
  },
  {
    name: 'a clock is followed wherever it leaps',
    plant: ({ clock, node }) => Object.assign(clock, { now: () => node.wallMs() }),
  },
  {
    name: 'data from a clock that was far ahead keeps its dates',
    prepare: (process) => Object.assign(process, { reDating: () => undefined }),
  },
  {
    name: 'recovery does not ask which files there were',
    prepare: ({ node }) => node.disk?.hideManifest(),
  },
  {
    name: 'a stop that could not write claims that it has',
    plant: ({ disk }) => {
      const close = disk?.close.bind(disk);
      if (close !== undefined) Object.assign(disk as object, { close: () => close().catch(() => {}) });
    },
  },
  {
    name: 'no peer shows that a disk is an old copy',
    plant: ({ replica }) => Object.assign(replica.ownStarts, { findProof: () => undefined }),
  },
  {
    name: 'changes are sent before peers have shown that the disk is no old copy',
    plant: ({ replica }) => Object.assign(replica.ownStarts, { sendableUpTo: () => Number.POSITIVE_INFINITY }),
  },
  {
    name: 'an old copy forgets which changes it has in common with the other',
    prepare: ({ node, engine }) => {
      const { oldCopy } = node.disk?.notes ?? {};
      if (oldCopy === undefined) return;
      const base = { segment: 1, previousEnd: 0 };
      Object.assign(oldCopy, { base, versions: Array.from({ length: engine.shardCount }, () => 0) });
    },
  },
  {
    name: 'a process is let in under the name of another that runs',
    plant: ({ replica }) => letInTwins(replica),
  },
];

/** Links are replaced, whichever process is at their other end. */
function letInTwins(replica: Replica): void {
  const admit = replica.admit.bind(replica);
  const { freshness } = replica;
  const careless: Replica['admit'] = (link, hello) => {
    const before = replica.members.get(hello.region)?.link;
    if (before !== undefined) Object.assign(before, { isOfSameProcess: () => true });
    const ageMs = freshness.ageMs.bind(freshness);
    Object.assign(freshness, { ageMs: () => -1 });
    try {
      return admit(link, hello);
    } finally {
      Object.assign(freshness, { ageMs });
    }
  };
  Object.assign(replica, { admit: careless });
}

/** A private member, by name: mistakes reach into members that are closed to other code. */
function partOf<T>(owner: object, name: string): T {
  return Reflect.get(owner, name) as T;
}

function methodOf<T>(owner: object, name: string): T {
  return Reflect.get(owner, name).bind(owner);
}

function afterApply(merge: Merge, work: (batch: Batch) => void): void {
  const apply = merge.apply.bind(merge);
  Object.assign(merge, {
    apply: (batch: Batch) => {
      const applied = apply(batch);
      work(batch);
      return applied;
    },
  });
}

function keyOf(batch: Batch, index: number): Uint8Array {
  return batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]);
}

function republish(engine: Engine, batch: Batch): void {
  for (let index = 0; index < batch.count; index++) {
    const amount = BigInt(batch.positiveLow[index] >>> 0) + (BigInt(batch.positiveHigh[index]) << 32n);
    if (batch.present[index] === 1 && amount > 0n)
      withKey(engine, keyOf(batch, index), () => engine.add(...splitInt64(amount)));
  }
}

/** Drops the cancels of every generation before the one that has just arrived. */
function letGoCancels(engine: Engine, batch: Batch): void {
  const origin = engine.origins.find(batch.origin);
  for (let index = 0; index < batch.count; index++) {
    withKey(engine, keyOf(batch, index), () => {
      const record = partOf<number>(engine, 'record');
      const shard = partOf<number>(engine, 'shard');
      if (record === 0 || origin <= 0) return;
      engine.ownGeneration.collectCancel(shard, record, origin, batch.born[index]);
      engine.records.refreshKey(shard, record);
    });
  }
}

function dropWhatIsNotListed(replica: Replica): void {
  type Repair = (link: Link, origin: number, theirs: Inventory, held: unknown) => void;
  const repair = methodOf<Repair>(replica.antiEntropy, 'repair');
  const careless: Repair = (link, origin, theirs, held) =>
    repair(link, origin, { ...theirs, version: Number.MAX_SAFE_INTEGER }, held);
  Object.assign(replica.antiEntropy, { repair: careless });
}

function compareUnaligned(replica: Replica): void {
  const { antiEntropy, engine } = replica;
  type Suspect = (link: Link, origin: number, shard: number, name: string) => void;
  const suspect = methodOf<Suspect>(antiEntropy, 'suspect');
  Object.assign(antiEntropy, {
    sendDigests: (link: Link, shards: readonly number[]) => {
      for (const index of replica.origins().keys()) {
        const all = shards.map((shard) => engine.digestAt(shard, index));
        const versions = all.map(({ version }) => version);
        const digests = all.map(({ digest }) => digest);
        const id = engine.origins.idOf(index);
        link.send({ kind: FrameKind.digests, origin: id, shards, versions, digests, question: 0, isAnswer: false });
      }
    },
    receiveDigests: (link: Link, origin: number, { shards, digests }: Digests) => {
      for (const [index, shard] of shards.entries())
        if (engine.digestAt(shard, origin).digest !== digests[index])
          suspect(link, origin, shard, `${link.region}:${origin}:${shard}`);
    },
  });
  dropWhatIsNotListed(replica);
}
