import { beforeZero, Table, type Value } from '@quotadb/lua';

/** The field that says that the statistics of errors have this one already. */
const COUNTED = 'ignore_error_stats_update';

/** The error reply of a command, as scripts see it: the text begins with its code. */
export function errorTable(text: string): Table {
  const table = new Table();
  table.resize(0, 2);
  table.set('err', text);
  table.set(COUNTED, true);
  return table;
}

/** An error that a function of the table `redis` finds itself. */
export function libraryError(text: string): Table {
  const table = new Table();
  table.set('err', `ERR ${text}`);
  return table;
}

export function isCounted(value: Value): boolean {
  return value instanceof Table && value.get(COUNTED) === true;
}

/** redis.error_reply: a code is put in front of a text of one word; a minus sign in front of the text is dropped. */
export function errorReply(text: string): Table {
  const table = new Table();
  const line = withoutLineEnd(beforeZero(text));
  const bare = line.startsWith('-') ? line.slice(1) : line;
  table.set('err', bare.includes(' ') ? bare : `ERR ${bare}`);
  return table;
}

/** Redis trims what would be empty lines behind an error. */
export function withoutLineEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '\r' || text[end - 1] === '\n')) end--;
  return text.slice(0, end);
}
