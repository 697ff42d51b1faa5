import { beforeZero, LuaError, plainString, ScriptAborted, Table, type Value } from '@quotadb/lua';
import type { Call } from '../session/command.js';
import { isCounted } from './error-table.js';
import { ScriptEnded } from './script-watch.js';

/** The error reply of a script that has failed, as Redis words it. Rethrows all other errors. */
export function writeFailure({ reply, server }: Call, error: unknown, digest: string): void {
  if (error instanceof LuaError) {
    reply.errorLatin1(`${beforeZero(textOf(error.value))}${placeOf(digest, error.line, error.source)}`);
    // The command that failed has counted the error.
    if (isCounted(error.value)) server.statistics.errors.nextIsCounted = true;
  } else if (error instanceof ScriptEnded) {
    reply.errorLatin1(`ERR ${error.message}${placeOf(digest, error.line)}`);
  } else if (error instanceof ScriptAborted) {
    reply.errorLatin1(`ERR ${error.message}${placeOf(digest, 0)}`);
  } else {
    throw error;
  }
}

function textOf(value: Value): string {
  if (!(value instanceof Table)) return `ERR ${plainString(value)}`;
  const text = value.get('err');
  return typeof text === 'string' ? text : 'ERR the script raised a table without a text in its field err';
}

/** `source` is the text itself where loadstring compiled it. */
function placeOf(digest: string, line: number, source = '@user_script'): string {
  return line === 0 ? '' : ` script: ${digest}, on ${beforeZero(source)}:${line}.`;
}
