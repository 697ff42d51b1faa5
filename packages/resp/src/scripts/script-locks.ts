import type { Engine } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import type { Call } from '../session/command.js';
import { latin1 } from './reply-reader.js';

/** Thrown out of a script that has not written yet: it runs again with all shards locked. No pcall catches it. */
export class RunAgain extends Error {
  override readonly name = 'RunAgain';
}

/**
 * The locks of the script that runs on this lane. It begins with the shards of the keys that it declares, or with all.
 * A script that reaches for another key gets the lock of it in one of two ways: before its first write it is run again
 * with all shards locked, and after it, when it cannot be run again, all others are asked for, but not waited for
 * without end: two scripts could wait for each other.
 */
export class ScriptLocks {
  /** Other threads use the store. */
  areNeeded = false;
  /** The script reached for a key that it had not declared. */
  reachedFurther = false;
  private engine!: Engine;
  private isNested = false;
  private hasAll = false;
  /** The request of the script, and where the keys are that it declares. */
  private declaration!: Request;
  private firstKey = 0;
  private keyEnd = 0;
  /** The keys, where they are many. */
  private declaredSet: Set<string> | undefined;

  /** Takes the locks of a script. Inside EXEC they are held already. */
  take(call: Call, firstKey: number, keyEnd: number, needsAll: boolean): void {
    const { engine, request } = call;
    this.engine = engine;
    this.areNeeded = engine.isShared;
    this.isNested = call.executing;
    this.reachedFurther = false;
    this.declaration = request;
    this.firstKey = firstKey;
    this.keyEnd = keyEnd;
    this.declaredSet = undefined;
    if (this.isNested) {
      this.hasAll = engine.holdsAll;
      return;
    }
    // The main thread would wait for the lock of the store until the script ends, whatever keys it declares.
    engine.endResidence();
    this.hasAll = needsAll;
    if (needsAll) {
      engine.lockAll();
    } else {
      const { input, argumentStart, argumentLength } = request;
      engine.lockKeys(input, argumentStart, argumentLength, firstKey, keyEnd, 1);
    }
  }

  give(): void {
    this.declaredSet = undefined;
    if (!this.isNested) this.engine.unlock();
  }

  /** Whether the command may use these keys of its request now. Throws RunAgain. */
  reachKeys(request: Request, first: number, last: number, step: number, hasWritten: boolean): boolean {
    const { engine } = this;
    const { input, argumentStart, argumentLength } = request;
    for (let index = first; index <= last; index += step) {
      const start = argumentStart[index];
      const length = argumentLength[index];
      if (this.isDeclared(request, start, length)) continue;
      this.reachedFurther = true;
      if (this.hasAll || engine.holdsKeys(input, argumentStart, argumentLength, index, index + 1, 1)) continue;
      return this.extend(hasWritten);
    }
    return true;
  }

  /** Whether the command may use all keys now. Throws RunAgain. */
  reachAll(hasWritten: boolean): boolean {
    this.reachedFurther = true;
    return this.hasAll || this.extend(hasWritten);
  }

  private extend(hasWritten: boolean): boolean {
    if (!hasWritten && !this.isNested) throw new RunAgain();
    this.hasAll = this.engine.extendToAll();
    return this.hasAll;
  }

  private isDeclared({ input: { bytes } }: Request, start: number, length: number): boolean {
    if (this.keyEnd - this.firstKey > FEW_KEYS) {
      this.declaredSet ??= this.allDeclared();
      return this.declaredSet.has(latin1(bytes, start, length));
    }
    const { argumentStart, argumentLength } = this.declaration;
    const declaredBytes = this.declaration.input.bytes;
    for (let key = this.firstKey; key < this.keyEnd; key++) {
      if (argumentLength[key] !== length) continue;
      const keyStart = argumentStart[key];
      let offset = 0;
      while (offset < length && declaredBytes[keyStart + offset] === bytes[start + offset]) offset++;
      if (offset === length) return true;
    }
    return false;
  }

  private allDeclared(): Set<string> {
    const { input, argumentStart, argumentLength } = this.declaration;
    const keys = new Set<string>();
    for (let key = this.firstKey; key < this.keyEnd; key++)
      keys.add(latin1(input.bytes, argumentStart[key], argumentLength[key]));
    return keys;
  }
}

/** Up to here comparing is quicker than making a string of the bytes. */
const FEW_KEYS = 8;
