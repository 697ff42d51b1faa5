import { type Attachments, Kind } from '../memory/attachments.js';
import { OriginShard } from '../memory/layout.js';
import { Component, Flag, isPresent, keyRecordOf, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/**
 * A digest of everything one origin has in one shard: the wrapping sum of a 64-bit mix of each component. Two replicas
 * that have seen the same versions of an origin have the same digest, or one of them is wrong.
 *
 * A component that says nothing any more counts for nothing: its owner keeps it until everybody knows, the others do not.
 *
 * It is kept lazily. The digest covers the components up to `digested`; a component that is about to change is taken
 * out only if it is covered, and those changed since are added when somebody asks. So a node that nobody compares
 * itself with pays one comparison a change, and a hot key costs nothing more however often it changes in between.
 */
export class Digests {
  private readonly store: Store;
  private mixLow = 0;
  private mixHigh = 0;

  constructor(store: Store) {
    this.store = store;
  }

  /** Before a component changes or goes: take it out of the digest if it is in there. */
  exclude(originShard: number, component: number): void {
    const { memory, numbers } = this.store;
    if (versionOf(memory, component) > numbers[(originShard >>> 1) + OriginShard.digestedNumber]) return;
    if (this.isEmpty(component)) return;
    this.mix(component);
    memory[originShard + OriginShard.digestLow] -= this.mixLow;
    memory[originShard + OriginShard.digestHigh] -= this.mixHigh;
  }

  /** A component put in below `digested` (an old part of a walk, arriving late) belongs to the digest at once. */
  includeIfCovered(originShard: number, component: number): void {
    const { memory, numbers } = this.store;
    if (versionOf(memory, component) > numbers[(originShard >>> 1) + OriginShard.digestedNumber]) return;
    this.include(originShard, component);
  }

  /** The digest of all that is held now, as two halves in hexadecimal. */
  read(originShard: number): string {
    this.catchUp(originShard);
    const { memory } = this.store;
    const halves = [memory[originShard + OriginShard.digestHigh], memory[originShard + OriginShard.digestLow]];
    return halves.map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** Brings the digest up to the newest component. */
  catchUp(originShard: number): void {
    const { memory, numbers } = this.store;
    const digested = numbers[(originShard >>> 1) + OriginShard.digestedNumber];
    const tail = memory[originShard + OriginShard.tail];
    for (let at = tail; at !== 0 && versionOf(memory, at) > digested; at = memory[at + Component.previous]) {
      this.include(originShard, at);
    }
    if (tail !== 0)
      numbers[(originShard >>> 1) + OriginShard.digestedNumber] = Math.max(digested, versionOf(memory, tail));
  }

  private include(originShard: number, component: number): void {
    const memory = this.store.memory;
    if (this.isEmpty(component)) return;
    this.mix(component);
    memory[originShard + OriginShard.digestLow] += this.mixLow;
    memory[originShard + OriginShard.digestHigh] += this.mixHigh;
  }

  private isEmpty(component: number): boolean {
    const { memory, attachments } = this.store;
    if (isPresent(memory, component)) return false;
    return attachments.find(component, Kind.floor) === 0 && attachments.find(component, Kind.cancel) === 0;
  }

  /** Everything that replicates goes in, and nothing else: key, generation, version, amounts, expiry, floor and cancels. */
  private mix(component: number): void {
    const { memory, hash } = this.store;
    const { local, shared } = hash;
    hash.ofRecord(memory, keyRecordOf(memory, component));
    this.mixLow = hash.shared;
    this.mixHigh = ~hash.shared;
    hash.local = local;
    hash.shared = shared;
    for (let word = 0; word <= Component.positiveHigh; word++)
      this.absorb(memory[component + word] & CONTENT_MASK[word]);
    const present = (memory[component + Component.bornHigh] & Flag.present) !== 0;
    this.absorb(present ? 1 : 0);
    this.absorbAttachments(this.store.attachments, component, present);
    this.mixLow = Math.imul(this.mixLow ^ (this.mixLow >>> 15), 0x2c1b3c6d);
    this.mixHigh = Math.imul(this.mixHigh ^ (this.mixHigh >>> 13), 0x297a2d39);
  }

  private absorbAttachments(attachments: Attachments, component: number, present: boolean): void {
    const memory = this.store.memory;
    let cancels = 0;
    for (let at = memory[component + Component.attachments]; at !== 0; at = memory[at]) {
      const kind = attachments.kindOf(at);
      if (kind === Kind.floor || (kind === Kind.negative && (memory[at + 2] | memory[at + 3]) !== 0)) {
        this.absorb(kind);
        this.absorb(memory[at + 2]);
        this.absorb(memory[at + 3]);
      } else if (kind === Kind.expiry && present && attachments.numberAt(at, 4) !== 0) {
        for (let word = 2; word < 6; word++) this.absorb(memory[at + word]);
      } else if (kind === Kind.cancel) {
        // Origins have another index on every node and cancels no fixed order: what is summed depends on neither.
        let cancel = 0;
        for (let word = 2; word < 8; word++)
          cancel = Math.imul(cancel ^ memory[at + word], 0x9e3779b1) ^ (cancel >>> 15);
        cancels = (cancels + cancel) | 0;
      }
    }
    if (cancels !== 0) this.absorb(cancels);
  }

  private absorb(word: number): void {
    const low = Math.imul(this.mixLow ^ word, 0x85ebca6b);
    this.mixLow = (low << 13) | (low >>> 19);
    const high = Math.imul(this.mixHigh ^ word, 0xc2b2ae35);
    this.mixHigh = (high << 17) | (high >>> 15);
  }
}

/** Versions and births without the bits that share their high words. */
const CONTENT_MASK = [-1, 0x1fffff, -1, 0x1fffff, -1, -1];
