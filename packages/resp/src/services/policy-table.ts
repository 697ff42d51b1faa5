import type { Policy } from '@quotadb/quota';

interface Entry {
  readonly name: Uint8Array;
  readonly policy: Policy;
  readonly next: Entry | undefined;
}

/** Finds policies by the bytes of their name in a request, without making a string. */
export class PolicyTable {
  private entries = new Map<number, Entry>();
  private all: readonly Policy[] = [];
  /** Most requests are for the quota of the request before. */
  private last: Entry | undefined = undefined;

  get list(): readonly Policy[] {
    return this.all;
  }

  replace(policies: readonly Policy[]): void {
    const entries = new Map<number, Entry>();
    for (const policy of policies) {
      const name = Uint8Array.from(Buffer.from(policy.name));
      const hash = hashOf(name, 0, name.length);
      entries.set(hash, { name, policy, next: entries.get(hash) });
    }
    this.entries = entries;
    this.last = undefined;
    this.all = policies;
  }

  find(bytes: Uint8Array, start: number, length: number): Policy | undefined {
    const { last } = this;
    if (last !== undefined && isSame(last.name, bytes, start, length)) return last.policy;
    for (let entry = this.entries.get(hashOf(bytes, start, length)); entry !== undefined; entry = entry.next) {
      if (!isSame(entry.name, bytes, start, length)) continue;
      this.last = entry;
      return entry.policy;
    }
    return undefined;
  }
}

/** FNV-1a, in 30 bits, so that the number needs no memory. */
function hashOf(bytes: Uint8Array, start: number, length: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < length; index++) hash = Math.imul(hash ^ bytes[start + index], 0x01000193);
  return hash & 0x3fffffff;
}

function isSame(name: Uint8Array, bytes: Uint8Array, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let index = 0; index < length; index++) if (name[index] !== bytes[start + index]) return false;
  return true;
}
