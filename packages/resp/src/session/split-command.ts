import { slotOfKey } from '@quotadb/cluster';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { copyArgument } from '../request/arguments.js';
import { HERE, UNOWNED } from '../services/cluster-board.js';
import type { ForwardAnswer } from '../services/lane-cluster.js';
import { awaitAnswer } from './await-answer.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import type { RoutedCall } from './elsewhere.js';

/**
 * A command on keys of several groups, in one part for each. Every part runs as a whole in its group; the command as a
 * whole does not: another client can see one part done and another not, and where a part fails the others stay done.
 */
export interface Part {
  readonly isHere: boolean;
  /** Of its first key. */
  readonly slot: number;
  readonly words: Uint8Array[];
  /** The places of its keys among those of the command. */
  readonly places: number[];
}

export function partsOf(owners: Uint8Array, entry: CommandEntry, request: Request): Part[] | 'here' | 'unowned' {
  const { argumentStart, argumentLength, argumentCount } = request;
  const byOwner = new Map<number, Part>();
  for (let index = entry.firstKey; index < argumentCount; index += entry.keyStep) {
    const slot = slotOfKey(request.input.bytes, argumentStart[index], argumentLength[index]);
    const owner = owners[slot];
    if (owner === UNOWNED) return 'unowned';
    const part = byOwner.get(owner) ?? { isHere: owner === HERE, slot, words: [copyArgument(request, 0)], places: [] };
    byOwner.set(owner, part);
    part.places.push((index - entry.firstKey) / entry.keyStep);
    const end = Math.min(index + entry.keyStep, argumentCount);
    for (let word = index; word < end; word++) part.words.push(copyArgument(request, word));
  }
  return byOwner.size === 1 && byOwner.has(HERE) ? 'here' : [...byOwner.values()];
}

/** Runs the part of this group at once and asks the others for theirs; the reply is made of all. */
export function runParts(call: RoutedCall, entry: CommandEntry, parts: readonly Part[]): void {
  const { server, client } = call;
  const replies: Uint8Array[] = parts.map(({ isHere, words }) =>
    isHere ? call.runApart(entry, words) : new Uint8Array(0),
  );
  const isDone = replies.every((reply, index) => !parts[index].isHere || reply[0] !== MINUS);
  if (!isDone) {
    call.reply.raw(replies.find((reply) => reply[0] === MINUS) as Uint8Array);
    return;
  }
  awaitAnswer<null>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => {
      let missing = parts.filter(({ isHere }) => !isHere).length;
      for (const [index, { isHere, slot, words }] of parts.entries()) {
        if (isHere) continue;
        server.askMain('forward', { slot, words, protocol: client.protocol }, (answer: ForwardAnswer) => {
          replies[index] = 'error' in answer ? Buffer.from(`-${answer.error}\r\n`) : answer.reply;
          if (--missing === 0) answered(null);
        });
      }
    },
    (resumed, answer) => {
      if (answer === undefined) resumed.reply.error(errors.forwardStopped);
      else join(resumed, entry, parts, replies);
    },
  );
}

const MINUS = 0x2d;

function join({ reply }: Call, entry: CommandEntry, parts: readonly Part[], replies: readonly Uint8Array[]): void {
  const failed = replies.find((part) => part[0] === MINUS);
  if (failed !== undefined) reply.raw(failed);
  else if (entry.command.splits === 'status') reply.raw(replies[0]);
  else if (entry.command.splits === 'sum') reply.integer(replies.reduce((sum, part) => sum + integerOf(part), 0));
  else {
    const values: Uint8Array[] = [];
    for (const [index, { places }] of parts.entries())
      for (const [at, item] of itemsOf(replies[index]).entries()) values[places[at]] = item;
    reply.array(values.length);
    for (const value of values) reply.raw(value);
  }
}

/** Of `:5 CR LF`. */
function integerOf(reply: Uint8Array): number {
  return Number.parseInt(Buffer.from(reply.buffer, reply.byteOffset + 1, reply.length - 1).toString('latin1'), 10);
}

const LF = 0x0a;
const BULK = 0x24;

/** The items of an array of strings and nulls, as bytes. */
function itemsOf(reply: Uint8Array): Uint8Array[] {
  const items: Uint8Array[] = [];
  let at = reply.indexOf(LF) + 1;
  while (at < reply.length) {
    const lineEnd = reply.indexOf(LF, at) + 1;
    const length = reply[at] === BULK ? integerOf(reply.subarray(at, lineEnd)) : -1;
    const end = length < 0 ? lineEnd : lineEnd + length + 2;
    items.push(reply.subarray(at, end));
    at = end;
  }
  return items;
}
