import { Environment } from '../environment.js';
import { plainString } from '../libraries/to-string.js';
import { compile } from '../script.js';
import { LuaError, LuaSyntaxError, ScriptAborted } from '../values/errors.js';
import { Table } from '../values/table.js';
import { first } from '../values/value.js';

const environment = new Environment();

/** What Redis would reply to EVAL of a script that returns a string, without the hash of the script in errors. */
export function runHere(source: string): string {
  try {
    const result = first(compile(source, { environment }).run(new Table(), new Table()));
    if (result === undefined || result === false) return '$-1';
    return normalise(typeof result === 'string' ? result : `no string: ${plainString(result)}`);
  } catch (error) {
    return normalise(`-${textOf(error)}`.replace(/[\r\n]/g, ' '));
  }
}

function textOf(error: unknown): string {
  if (error instanceof LuaError) {
    return `ERR ${plainString(error.value)} script: SHA, on ${error.source}:${error.line}.`;
  }
  if (error instanceof LuaSyntaxError) return `ERR Error compiling script (new function): ${error.message}`;
  if (error instanceof ScriptAborted) return error.message;
  throw error;
}

/** An answer of Redis, made comparable. */
export function normalise(reply: string): string {
  return reply.replace(/ script: [0-9a-f]{40}, on/, ' script: SHA, on').replaceAll('-nan', 'nan');
}
