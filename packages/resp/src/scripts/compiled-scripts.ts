import { createHash } from 'node:crypto';
import { ByteInput } from '@quotadb/engine';
import { compile, type Environment, LuaSyntaxError, type Script } from '@quotadb/lua';
import { errors } from '../errors/errors.js';
import { ScriptBoard } from '../services/script-board.js';
import { latin1 } from './reply-reader.js';
import { readShebang, type Shebang, withoutShebang } from './shebang.js';

/** Of SHA1, in hexadecimal. */
export const DIGEST_DIGITS = 40;

/** A script as one lane has compiled it. */
export class CompiledScript {
  readonly digest: string;
  readonly shebang: Shebang;
  readonly script: Script;
  /** The digits of the digest, four in a word. */
  readonly words: Int32Array;
  private hasRun = false;
  private reachesFurther = false;

  constructor(digest: string, shebang: Shebang, script: Script) {
    this.digest = digest;
    this.shebang = shebang;
    this.script = script;
    this.words = wordsOf(digest);
  }

  /** It runs with all shards locked the first time, and for good once it reached for a key that it had not declared. */
  get needsAll(): boolean {
    return !this.hasRun || this.reachesFurther;
  }

  learn(reachedFurther: boolean): void {
    this.hasRun = true;
    if (reachedFurther) this.reachesFurther = true;
  }
}

/**
 * The scripts of one lane, by digest and by source. The board, which all lanes share, says which there are; each lane
 * compiles a script when it first runs it.
 */
export class CompiledScripts {
  /** Past this many, all are compiled anew when they are needed. */
  private static readonly MAXIMUM = 2000;

  private readonly board: ScriptBoard;
  private readonly environment: Environment;
  private readonly byDigest = new Map<string, CompiledScript>();
  /** By the first word of the digest, so that finding one makes no string. The latest of those that share it. */
  private readonly byWord = new Map<number, CompiledScript>();
  private readonly bySource = new Map<string, CompiledScript>();
  private generation = 0;

  constructor(board: ScriptBoard, environment: Environment) {
    this.board = board;
    this.environment = environment;
  }

  /** For EVAL and SCRIPT LOAD: compiles the source where it is new, and puts it on the board. Or an error reply. */
  add(source: string, isLoaded: boolean): CompiledScript | string {
    this.refresh();
    const known = this.bySource.get(source);
    if (known !== undefined && !isLoaded) return known;
    const compiled = known ?? this.compile(digestOf(source), source);
    if (typeof compiled !== 'string') {
      this.board.add(compiled.digest, source, isLoaded);
      this.refresh();
      this.keep(compiled, source);
    }
    return compiled;
  }

  /** For EVALSHA: the DIGEST_DIGITS of the digest begin here. Undefined where there is no such script. */
  find(input: ByteInput, start: number): CompiledScript | undefined {
    this.refresh();
    const likely = this.byWord.get(indexOf(input.view.getInt32(start, true)));
    if (likely !== undefined && hasWords(likely.words, input, start)) return likely;
    const digest = latin1(input.bytes, start, DIGEST_DIGITS).toLowerCase();
    return this.byDigest.get(digest) ?? this.fetch(digest);
  }

  /** Another lane may have it. */
  private fetch(digest: string): CompiledScript | undefined {
    const source = this.board.find(digest);
    if (source === undefined) return undefined;
    const compiled = this.compile(digest, source);
    if (typeof compiled === 'string') throw new Error(`a script on the board cannot be compiled: ${compiled}`);
    this.keep(compiled, source);
    return compiled;
  }

  private compile(digest: string, source: string): CompiledScript | string {
    if (source.length > ScriptBoard.MAX_SCRIPT_BYTES)
      return errors.scriptTooLong(source.length, ScriptBoard.MAX_SCRIPT_BYTES);
    const shebang = readShebang(source);
    if (typeof shebang === 'string') return errors.scriptShebang(shebang);
    try {
      const script = compile(withoutShebang(source), { environment: this.environment });
      return new CompiledScript(digest, shebang, script);
    } catch (error) {
      if (!(error instanceof LuaSyntaxError)) throw error;
      return errors.scriptCompilation(error.message);
    }
  }

  private keep(compiled: CompiledScript, source: string): void {
    if (this.bySource.has(source)) return;
    if (this.bySource.size >= CompiledScripts.MAXIMUM) this.clear();
    this.bySource.set(source, compiled);
    this.byDigest.set(compiled.digest, compiled);
    this.byWord.set(indexOf(compiled.words[0]), compiled);
  }

  /** Drops the scripts that are no longer on the board. */
  private refresh(): void {
    const { generation } = this.board;
    if (generation === this.generation) return;
    this.generation = generation;
    const kept = [...this.bySource].filter(([, { digest }]) => this.board.has(digest));
    this.clear();
    for (const [source, compiled] of kept) this.keep(compiled, source);
  }

  private clear(): void {
    this.byDigest.clear();
    this.byWord.clear();
    this.bySource.clear();
  }
}

function digestOf(source: string): string {
  return createHash('sha1').update(source, 'latin1').digest('hex');
}

function wordsOf(digest: string): Int32Array {
  const { view } = ByteInput.copyOf(Buffer.from(digest, 'latin1'));
  return Int32Array.from({ length: DIGEST_DIGITS / WORD_BYTES }, (_, word) => view.getInt32(word * WORD_BYTES, true));
}

function hasWords(words: Int32Array, { view }: ByteInput, start: number): boolean {
  for (let word = 0; word < words.length; word++) {
    if (view.getInt32(start + word * WORD_BYTES, true) !== words[word]) return false;
  }
  return true;
}

/** Fits into a small integer of V8. */
function indexOf(word: number): number {
  return word >> 2;
}

const WORD_BYTES = 4;
