import {
  ATTACHMENT_HEADER_WORDS,
  Attachments,
  ExpiryNumber,
  FloorNumber,
  Kind,
  NegativeWord,
} from '../memory/attachments.js';
import { sharedHashOfRecord } from '../memory/hash.js';
import { OriginShardNumber, OriginShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Component, isPresent, keyRecordOf, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/**
 * A digest of everything one origin has in one shard: the wrapping sum of a 64-bit mix of each component. Two replicas
 * that have seen the same versions of an origin have the same digest, or one of them is wrong.
 *
 * An empty component adds nothing: its owner keeps it until every replica has acknowledged it, the others drop it.
 *
 * It is kept lazily. The digest covers the components up to `digested`; a component that is about to change is taken
 * out only if it is covered, and those changed since are added when the digest is read. So a node without comparisons
 * pays one test a change, and a hot key costs nothing more however often it changes in between.
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
    if (versionOf(memory, component) > numbers[(originShard >>> 1) + OriginShardNumber.digested]) return;
    if (this.store.attachments.isEmpty(component)) return;
    this.mix(component);
    memory[originShard + OriginShardWord.digestLow] -= this.mixLow;
    memory[originShard + OriginShardWord.digestHigh] -= this.mixHigh;
  }

  /** A component put in below `digested` (an old part of a walk, arriving late) belongs to the digest at once. */
  includeIfCovered(originShard: number, component: number): void {
    const { memory, numbers } = this.store;
    if (versionOf(memory, component) > numbers[(originShard >>> 1) + OriginShardNumber.digested]) return;
    this.include(originShard, component);
  }

  /** The digest of all components held now, as 16 hexadecimal digits. */
  read(originShard: number): string {
    this.catchUp(originShard);
    const { memory } = this.store;
    const halves = [memory[originShard + OriginShardWord.digestHigh], memory[originShard + OriginShardWord.digestLow]];
    return halves.map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** Brings the digest up to the newest component. */
  catchUp(originShard: number): void {
    const { memory, numbers } = this.store;
    const digested = numbers[(originShard >>> 1) + OriginShardNumber.digested];
    const tail = linkAt(memory, originShard + OriginShardWord.tail);
    for (let at = tail; at !== 0 && versionOf(memory, at) > digested; at = linkAt(memory, at + Component.previous)) {
      this.include(originShard, at);
    }
    if (tail !== 0)
      numbers[(originShard >>> 1) + OriginShardNumber.digested] = Math.max(digested, versionOf(memory, tail));
  }

  private include(originShard: number, component: number): void {
    const memory = this.store.memory;
    if (this.store.attachments.isEmpty(component)) return;
    this.mix(component);
    memory[originShard + OriginShardWord.digestLow] += this.mixLow;
    memory[originShard + OriginShardWord.digestHigh] += this.mixHigh;
  }

  /** Exactly the fields that replicate go in: key, generation, version, amounts, expiry, floor and cancels. */
  private mix(component: number): void {
    const { memory } = this.store;
    const shared = sharedHashOfRecord(memory, keyRecordOf(memory, component));
    this.mixLow = shared;
    this.mixHigh = ~shared;
    for (let word = Component.versionLow; word <= Component.positiveHigh; word++)
      this.absorb(memory[component + word] & CONTENT_MASK[word]);
    const present = isPresent(memory, component);
    this.absorb(present ? 1 : 0);
    this.absorbAttachments(component, present);
    this.mixLow = Math.imul(this.mixLow ^ (this.mixLow >>> 15), 0x2c1b3c6d);
    this.mixHigh = Math.imul(this.mixHigh ^ (this.mixHigh >>> 13), 0x297a2d39);
  }

  private absorbAttachments(component: number, present: boolean): void {
    const { memory, attachments } = this.store;
    let cancels = 0;
    for (let at = attachments.first(component); at !== 0; at = attachments.next(at)) {
      const kind = attachments.kindOf(at);
      if (kind === Kind.floor) {
        this.absorb(kind);
        this.absorbNumber(at, FloorNumber.floorMs);
      } else if (kind === Kind.negative && (memory[at + NegativeWord.low] | memory[at + NegativeWord.high]) !== 0) {
        this.absorb(kind);
        this.absorb(memory[at + NegativeWord.low]);
        this.absorb(memory[at + NegativeWord.high]);
      } else if (kind === Kind.expiry && present && attachments.numberAt(at, ExpiryNumber.decided) !== 0) {
        this.absorbNumber(at, ExpiryNumber.expiresAtMs);
        this.absorbNumber(at, ExpiryNumber.decided);
      } else if (kind === Kind.cancel) {
        // Origins have another index on every node and cancels no fixed order: the sum depends on neither.
        let cancel = 0;
        for (let word = at + ATTACHMENT_HEADER_WORDS; word < at + Attachments.wordsOf(kind); word++)
          cancel = Math.imul(cancel ^ memory[word], 0x9e3779b1) ^ (cancel >>> 15);
        cancels = (cancels + cancel) | 0;
      }
    }
    if (cancels !== 0) this.absorb(cancels);
  }

  /** Both words of a double. */
  private absorbNumber(attachment: number, field: number): void {
    const low = attachment + field * 2;
    const high = low + 1;
    this.absorb(this.store.memory[low]);
    this.absorb(this.store.memory[high]);
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
