import { SLOT_COUNT, slotOfText } from './key-slot.js';

const tags: string[] = [];

/** A short hash tag of a slot, `{` and `}` included: names that have it are in the slot. */
export function slotTag(slot: number): string {
  // About 160,000 steps, once.
  if (tags.length === 0) {
    let missing = SLOT_COUNT;
    for (let number = 0; missing > 0; number++) {
      const text = number.toString(36);
      const at = slotOfText(text);
      if (tags[at] !== undefined) continue;
      tags[at] = `{${text}}`;
      missing--;
    }
  }
  return tags[slot];
}

/** The name without such a tag at its end. */
export function withoutSlotTag(name: string): string {
  const tagAt = name.endsWith('}') ? name.lastIndexOf('{') : -1;
  return tagAt === -1 ? name : name.slice(0, tagAt);
}
