import { SLOT_COUNT, slotOfKey } from '@quotadb/cluster';
import { errors } from '../../errors/errors.js';
import { numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { visibleKeys } from '../../session/permission.js';
import { FoundKeys, KeyWalk, walkInSlices } from '../keys/key-walk.js';

/** As KEYS has it. */
const MAXIMUM_REPLY_BYTES = 128 * 1024 * 1024;

export function keySlot({ reply, request }: Call): void {
  reply.integer(slotOfKey(request.input.bytes, request.argumentStart[2], request.argumentLength[2]));
}

export function countKeysInSlot(call: Call): void {
  const slot = numberArgument(call.request, 2);
  if (Number.isNaN(slot)) call.reply.error(errors.notAnInteger);
  else if (slot < 0 || slot >= SLOT_COUNT) call.reply.error(errors.slotInvalid);
  else {
    let count = 0;
    const take = () => count++;
    walkSlot(call, slot, Number.POSITIVE_INFINITY, take, ({ reply }) => reply.integer(count));
  }
}

export function getKeysInSlot(call: Call): void {
  const [slot, maximum] = [numberArgument(call.request, 2), numberArgument(call.request, 3)];
  if (Number.isNaN(slot) || Number.isNaN(maximum)) call.reply.error(errors.notAnInteger);
  else if (slot < 0 || slot >= SLOT_COUNT || maximum < 0) call.reply.error(errors.slotOrCountInvalid);
  else {
    const found = new FoundKeys();
    let left = maximum;
    const take = (key: Uint8Array) => {
      if (left-- > 0) found.take(key);
    };
    walkSlot(call, slot, MAXIMUM_REPLY_BYTES, take, ({ reply }) => found.writeTo(reply));
  }
}

function walkSlot(
  call: Call,
  slot: number,
  maximumBytes: number,
  take: (key: Uint8Array) => void,
  finish: (call: Call) => void,
): void {
  const mayBeSeen = visibleKeys(call.client);
  const isVisible = (key: Uint8Array) => slotOfKey(key, 0, key.length) === slot && (mayBeSeen?.(key) ?? true);
  const selection = { database: 0, pattern: undefined, isVisible };
  const walk = new KeyWalk(0n, selection, { count: Number.POSITIVE_INFINITY, maximumBytes }, take);
  walkInSlices(call, walk, finish);
}
