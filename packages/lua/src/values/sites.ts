/**
 * Where in a script an error is. Running code keeps no account of lines: every operation of the generated JavaScript
 * that can fail stands on a line of its own, and an error looks its line up in the stack that V8 gives. So positions,
 * and the names of variables in messages, cost nothing until there is an error.
 */
export interface Site {
  /** Of the Lua source. */
  readonly line: number;
  /** How messages name the operands: `local 'x'`, `field 'y'`; nothing where Lua has no name. */
  readonly operands: readonly (string | undefined)[];
  /** For a call: the bare name of the callee, as it is in messages about arguments. */
  readonly called?: string | undefined;
  /** For a call of `object:name()`. */
  readonly kind?: 'method';
  /** `return f()`: Lua drops the calling function's frame, and has no position for it. */
  readonly tail?: boolean;
}

export interface Chunk {
  /** In front of line numbers: `user_script`. */
  readonly name: string;
  /** Lua's name of the source. */
  readonly source: string;
  /** By line of the generated code. */
  readonly sites: readonly (Site | undefined)[];
}

export interface Position {
  /** `user_script:3: `, or nothing where the level is no Lua function. */
  readonly prefix: string;
  /** Of the innermost Lua function, whatever the level; 0 if there is none. */
  readonly line: number;
  /** Its chunk's. */
  readonly source: string;
  readonly site: Site | undefined;
}

const URL_PREFIX = 'lua:';
/** Lines that `new Function` puts in front of a body. */
const LINES_BEFORE_BODY = 2;
const FRAMES = 64;

const chunks = new Map<string, WeakRef<Chunk>>();
const collected = new FinalizationRegistry<string>((url) => chunks.delete(url));
let chunksMade = 0;

/** The URL for generated code that belongs to this chunk, and has to keep it alive. */
export function registerChunk(chunk: Chunk): string {
  const url = `${URL_PREFIX}${++chunksMade}`;
  chunks.set(url, new WeakRef(chunk));
  collected.register(chunk, url);
  return url;
}

/**
 * The name says in a stack that a library calls a function of the script: between the two, Lua's stack has the
 * library's. Libraries call functions through it only (`callFunction`).
 */
const BOUNDARY = 'callFromLibrary';

/**
 * Level 1 is the running Lua function, or the one that called the running library function; 2 its caller; and so on.
 */
export function position(level: number): Position {
  const { levels, line, source } = walk(level);
  const found = levels[level - 1];
  if (found === undefined) return { prefix: '', line, source, site: undefined };
  return { prefix: `${found.chunk}:${found.site.line}: `, line, source, site: found.site };
}

interface Level {
  readonly chunk: string;
  readonly site: Site;
}

function walk(wanted: number): { levels: (Level | undefined)[]; line: number; source: string } {
  const levels: (Level | undefined)[] = [];
  let line = 0;
  let source = '';
  let previousIsLua = false;
  for (const frame of stackFrames(FRAMES + wanted * 4)) {
    const url = frame.getScriptNameOrSourceURL();
    if (typeof url === 'string' && url.startsWith(URL_PREFIX)) {
      const chunk = chunks.get(url)?.deref();
      const site = chunk?.sites[(frame.getLineNumber() ?? 0) - LINES_BEFORE_BODY - 1];
      if (chunk === undefined || site === undefined) continue;
      if (line === 0) {
        line = site.line;
        source = chunk.source;
      }
      levels.push(site.tail === true && previousIsLua ? undefined : { chunk: chunk.name, site });
      previousIsLua = true;
    } else if (frame.getFunctionName() === BOUNDARY) {
      levels.push(undefined);
      previousIsLua = false;
    }
    if (levels.length >= wanted && line > 0) break;
  }
  return { levels, line, source };
}

function stackFrames(limit: number): NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = limit;
    Error.prepareStackTrace = (_, frames) => frames;
    Error.captureStackTrace(holder, stackFrames);
    return holder.stack as NodeJS.CallSite[];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
}
