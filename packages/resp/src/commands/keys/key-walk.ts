import type { Engine } from '@quotadb/engine';
import { ReplyWriter } from '@quotadb/wire';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';
import { nameIn } from '../../session/databases.js';
import type { Glob } from './glob.js';

/** The keys that a walk returns: those of one database, not cells, which are hidden, nor keys its user may not see. */
export interface KeySelection {
  readonly database: number;
  /** Undefined: all. */
  readonly pattern: Glob | undefined;
  /**
   * Undefined: all. Asked before the pattern, so that the time of the command shows its user nothing of hidden keys.
   */
  readonly isVisible: ((key: Uint8Array) => boolean) | undefined;
}

interface WalkBounds {
  readonly count: number;
  readonly maximumBytes: number;
}

/** Keys visited between two looks at the work done. */
const STEP_KEYS = 16;
/** The work of visiting a key, in steps of matching a pattern; and that of the buckets of one step. */
const KEY_WORK = 32;
const STEP_WORK = 256;

/** A walk over all keys, in slices, between which other clients are served; it visits keys as SCAN promises. */
export class KeyWalk {
  /** Work of one slice: about a millisecond, and one step past it at most. */
  static readonly SLICE_WORK = 200_000;

  foundBytes = 0;
  /** Where the next slice begins. */
  cursor: bigint;
  isOver = false;
  /** The work of all slices so far. */
  work = 0;
  private left: number;
  private readonly maximumBytes: number;
  private readonly selection: KeySelection;
  private readonly take: (key: Uint8Array) => void;

  /** Ends after about `count` keys, where the bytes found pass `maximumBytes`, or at the last key. */
  constructor(cursor: bigint, selection: KeySelection, bounds: WalkBounds, take: (key: Uint8Array) => void) {
    this.cursor = cursor;
    this.selection = selection;
    this.left = bounds.count;
    this.maximumBytes = bounds.maximumBytes;
    this.take = take;
  }

  runSlice(engine: Engine): void {
    const until = this.work + KeyWalk.SLICE_WORK;
    while (!this.isOver && this.work < until) {
      const step = Math.min(STEP_KEYS, this.left);
      this.cursor = engine.scan(this.cursor, step, this.visit);
      this.left -= step;
      this.work += STEP_WORK;
      this.isOver = this.cursor === 0n || this.left <= 0 || this.foundBytes > this.maximumBytes;
    }
  }

  private readonly visit = (key: Uint8Array): void => {
    const { database, pattern, isVisible } = this.selection;
    this.work += KEY_WORK;
    const name = nameIn(database, key);
    if (name === undefined || (isVisible !== undefined && !isVisible(name))) return;
    if (pattern !== undefined) {
      this.work += name.length * pattern.words;
      if (!pattern.matches(name)) return;
    }
    this.take(name);
    this.foundBytes += name.length;
  };
}

/** The keys of a reply whose number is known at its end: written as they are found, so that no turn writes them all. */
export class FoundKeys {
  private readonly bulks = new ReplyWriter(INITIAL_BYTES);
  private count = 0;

  readonly take = (key: Uint8Array): void => {
    this.count++;
    this.bulks.bulk(key, 0, key.length);
  };

  writeTo(reply: ReplyWriter): void {
    reply.array(this.count);
    reply.raw(this.bulks.bytes.subarray(0, this.bulks.length));
  }
}

/** A page of SCAN. */
const INITIAL_BYTES = 512;

/**
 * Runs a walk to its end and calls `finish`, which writes the reply. The first slice runs at once. Before each further
 * one the lane serves its other clients, and all walks of a lane together rest as long as the last slice took: any
 * number of them leaves half of the lane's time to others. Inside EXEC and scripts all slices run at once.
 */
export function walkInSlices(call: Call, walk: KeyWalk, finish: (call: Call) => void): void {
  const { clock, walks } = call.server;
  if (call.executing) {
    while (!walk.isOver) walk.runSlice(call.engine);
    finish(call);
    return;
  }
  const startedAtMs = clock.monotonic();
  walk.runSlice(call.engine);
  const endedAtMs = clock.monotonic();
  walks.restUntilMs = endedAtMs + (endedAtMs - startedAtMs);
  if (walk.isOver) finish(call);
  else rest(call, walk, finish);
}

/** Another walk may have run a slice meanwhile: then this one rests on. */
function rest(call: Call, walk: KeyWalk, finish: (call: Call) => void): void {
  const { clock, walks } = call.server;
  const restMs = Math.max(walks.restUntilMs - clock.monotonic(), 0);
  const ask = (answered: (answer: null) => void): void => {
    if (restMs === 0) answered(null);
  };
  awaitAnswer<null>(call, restMs, ask, (resumed) => {
    if (walks.restUntilMs > clock.monotonic()) rest(resumed, walk, finish);
    else walkInSlices(resumed, walk, finish);
  });
}
