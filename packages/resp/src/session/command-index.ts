import { Need, needsOf } from '@quotadb/config';
import type { ByteInput } from '@quotadb/engine';
import { lowerCase } from '../request/arguments.js';
import type { Call, Command } from './command.js';

/**
 * Finds a command by the bytes of its name, without making a string.
 *
 * An open-addressed table, at most a quarter full: the slot of a name is its hash, or the next free one on a collision.
 * The hash sets the case bit of every byte, also of those that are not letters: that only causes collisions, because
 * the name is then compared byte by byte.
 */
export class CommandIndex {
  readonly entries: readonly CommandEntry[];
  private readonly slots: (CommandEntry | undefined)[];
  private readonly mask: number;
  /** The name that findIn found last, as it was written: its length, its first and last four bytes, those between. */
  private lastLength = 0;
  private lastHead = 0;
  private lastTail = 0;
  private lastSecond = 0;
  private lastThird = 0;
  private last: CommandEntry | undefined = undefined;

  constructor(entries: readonly CommandEntry[]) {
    this.entries = entries;
    let capacity = 4;
    while (capacity < entries.length * 4) capacity *= 2;
    this.mask = capacity - 1;
    this.slots = new Array<CommandEntry | undefined>(capacity).fill(undefined);
    for (const entry of entries) this.insert(entry);
  }

  find(bytes: Uint8Array, start: number, length: number): CommandEntry | undefined {
    let slot = hashName(bytes, start, length) & this.mask;
    for (;;) {
      const entry = this.slots[slot];
      if (entry === undefined || matches(entry.nameBytes, bytes, start, length)) return entry;
      slot = (slot + 1) & this.mask;
    }
  }

  /** The same for a name in a request: most have the name of the request before, and comparing some words shows it. */
  findIn({ bytes, view }: ByteInput, start: number, length: number): CommandEntry | undefined {
    if (length > LONGEST_REMEMBERED) return this.find(bytes, start, length);
    const head = view.getInt32(start, true);
    const tail = length > 4 ? view.getInt32(start + length - 4, true) : head;
    const second = length > 8 ? view.getInt32(start + 4, true) : 0;
    const third = length > 8 ? view.getInt32(start + length - 8, true) : 0;
    const isLast = length === this.lastLength && head === this.lastHead && tail === this.lastTail;
    if (isLast && second === this.lastSecond && third === this.lastThird) return this.last;
    this.last = this.find(bytes, start, length);
    this.lastLength = length;
    this.lastHead = head;
    this.lastTail = tail;
    this.lastSecond = second;
    this.lastThird = third;
    return this.last;
  }

  findText(name: string): CommandEntry | undefined {
    const bytes = encoder.encode(name);
    return this.find(bytes, 0, bytes.length);
  }

  private insert(entry: CommandEntry): void {
    const { nameBytes } = entry;
    if (this.find(nameBytes, 0, nameBytes.length) !== undefined)
      throw new Error(`two commands named ${entry.fullName}`);
    let slot = hashName(nameBytes, 0, nameBytes.length) & this.mask;
    while (this.slots[slot] !== undefined) slot = (slot + 1) & this.mask;
    this.slots[slot] = entry;
  }
}

const LONGEST_REMEMBERED = 16;
const HASH_FACTOR = 31;
const HASH_FOLD = 15;
const CASE_BIT = 0x20;
const encoder = new TextEncoder();

function hashName(bytes: Uint8Array, start: number, length: number): number {
  let hash = length;
  for (let position = start; position < start + length; position++) {
    hash = (Math.imul(hash, HASH_FACTOR) + (bytes[position] | CASE_BIT)) | 0;
  }
  return hash ^ (hash >>> HASH_FOLD);
}

function matches(name: Uint8Array, bytes: Uint8Array, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let offset = 0; offset < length; offset++) {
    if (lowerCase(bytes[start + offset]) !== name[offset]) return false;
  }
  return true;
}

/** A command as dispatch sees it: its declaration, and the checks of every call, computed beforehand. */
export interface CommandEntry {
  readonly command: Command;
  /** Its index in the statistics, unique among commands and subcommands. */
  readonly id: number;
  /** `client|list` for a subcommand. */
  readonly fullName: string;
  /** How it is called, for errors; undefined for a command of Redis, whose error texts are Redis's. */
  readonly usage: string | undefined;
  readonly nameBytes: Uint8Array;
  /** Arguments, including the name. */
  readonly minimumArguments: number;
  readonly maximumArguments: number;
  /** The permissions it needs; see Need. */
  readonly needs: number;
  readonly allowedInTransaction: boolean;
  readonly isWrite: boolean;
  readonly allowedInScript: boolean;
  /** The keys that it opens: those that it names, others too, or none. */
  readonly reach: 'keys' | 'all' | 'none';
  /** Runs while a script keeps the lane busy. */
  readonly allowedWhileBusy: boolean;
  /** The positions of its keys, as in the declaration; all 0 where it has none. */
  readonly firstKey: number;
  readonly lastKey: number;
  readonly keyStep: number;
  /** Of a command that says how many keys it has, the argument that does; else 0. `lastKeyOf` finds the last key. */
  readonly keyCountAt: number;
  /** It opens its first argument as a key, and opens nothing before. */
  readonly opensFirst: boolean;
  /** Runs at once even between MULTI and EXEC. */
  readonly neverQueued: boolean;
  /** See Command; past every argument where it has none. */
  readonly secretsFrom: number;
  /** Its work does not depend on its arguments alone. */
  readonly isCostly: boolean;
  /** Timed one by one; all others share the time of their turn. */
  readonly timed: boolean;
  readonly run: ((call: Call) => void) | undefined;
  readonly subcommands: CommandIndex | undefined;
}

/** These control the transaction, so they are not queued in it. */
const NEVER_QUEUED: ReadonlySet<string> = new Set(['exec', 'discard', 'multi', 'watch', 'quit', 'reset']);

/** These end a MONITOR, or keep it going. */
const WHILE_MONITORING: ReadonlySet<string> = new Set(['monitor', 'ping', 'quit', 'reset']);

/** Their keys are subjects. */
const SUBJECTS: ReadonlySet<Command['group']> = new Set(['quota', 'limit']);

/** The states of a connection that the command has to look at; see Need. */
function stateNeedsOf({ name, flags, keys, keyCountAt, group }: Command): number {
  const isScript = keyCountAt !== undefined;
  const isWrite = flags.includes('write') || (isScript && !flags.includes('readonly'));
  // Subjects are the same in every database, as they are over HTTP.
  const worksOnKeys = !SUBJECTS.has(group) && (isScript || keys !== undefined || isWrite || flags.includes('readonly'));
  return (
    Need.noPause |
    (isWrite || name === 'exec' ? Need.noWritePause : 0) |
    (worksOnKeys ? Need.database : 0) |
    (WHILE_MONITORING.has(name) ? 0 : Need.noMonitor) |
    (keys !== undefined || isScript || name === 'exec' ? Need.slot : 0)
  );
}

/** Versions of QuotaDB begin with 0 or its name; Redis's with 1 and more. */
function isOurs({ since }: Command): boolean {
  return /^(?:quotadb|0\.)/.test(since);
}

function isTimed({ flags, complexity }: Command): boolean {
  return !flags.includes('fast') && complexity !== 'O(1)';
}

/** These work on cells, which are keys under names of their own. */
const WITH_CELLS: ReadonlySet<Command['group']> = new Set(['window', 'rate', 'quota', 'limit']);
const ON_KEYS: ReadonlySet<Command['flags'][number]> = new Set(['write', 'readonly', 'admin']);

function reachOf({ keys, flags, group }: Command): CommandEntry['reach'] {
  if (WITH_CELLS.has(group)) return 'all';
  if (keys !== undefined) return 'keys';
  return flags.some((flag) => ON_KEYS.has(flag)) ? 'all' : 'none';
}

export interface CommandDirectory {
  readonly index: CommandIndex;
  /** All commands and subcommands, by id. */
  readonly entries: readonly CommandEntry[];
}

export function buildCommandDirectory(commands: readonly Command[]): CommandDirectory {
  const entries: CommandEntry[] = [];
  const build = (command: Command, parent: string | undefined): CommandEntry => {
    const fullName = parent === undefined ? command.name : `${parent}|${command.name}`;
    const { keyCountAt = 0 } = command;
    const [firstCounted, countedStep] = command.countedKeys ?? [keyCountAt + 1, 1];
    const [firstKey, lastKey, keyStep] = command.keys ?? (keyCountAt > 0 ? [firstCounted, 0, countedStep] : [0, 0, 0]);
    const entry: CommandEntry = {
      command,
      id: entries.length,
      fullName,
      usage: isOurs(command) ? `${fullName.replace('|', ' ').toUpperCase()} ${command.syntax}`.trimEnd() : undefined,
      nameBytes: encoder.encode(command.name),
      minimumArguments: Math.abs(command.arity),
      maximumArguments: command.arity < 0 ? Number.MAX_SAFE_INTEGER : command.arity,
      needs: needsOf(command) | stateNeedsOf(command),
      allowedInTransaction: !command.flags.includes('no_multi') && command.givesWay !== true,
      isWrite: command.flags.includes('write'),
      allowedInScript: !command.flags.includes('noscript'),
      reach: reachOf(command),
      allowedWhileBusy: command.flags.includes('allow_busy'),
      firstKey,
      lastKey,
      keyStep,
      keyCountAt,
      opensFirst: firstKey === 1 && reachOf(command) === 'keys' && command.subcommands === undefined,
      neverQueued: parent === undefined && NEVER_QUEUED.has(command.name),
      secretsFrom: command.secretsFrom ?? Number.MAX_SAFE_INTEGER,
      isCostly: isTimed(command) && firstKey === 0,
      timed: isTimed(command),
      run: command.run,
      subcommands: undefined,
    };
    entries.push(entry);
    if (command.subcommands === undefined) return entry;
    const subcommands = new CommandIndex(command.subcommands.map((subcommand) => build(subcommand, fullName)));
    const container = { ...entry, subcommands };
    entries[entry.id] = container;
    return container;
  };
  const index = new CommandIndex(commands.map((command) => build(command, undefined)));
  return { index, entries };
}
