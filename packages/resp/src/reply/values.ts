import type { ReplyWriter } from '@quotadb/wire';

/** Replies made of several values, for commands off the hot path. */

export function replyTexts(reply: ReplyWriter, texts: readonly string[]): void {
  reply.array(texts.length);
  for (const text of texts) reply.bulkText(text);
}

export function replyIntegers(reply: ReplyWriter, numbers: readonly number[]): void {
  reply.array(numbers.length);
  for (const number of numbers) reply.integer(number);
}

/** Lines of a HELP subcommand, as simple strings. */
export function replyLines(reply: ReplyWriter, lines: readonly string[]): void {
  reply.array(lines.length);
  for (const line of lines) reply.simple(line);
}

/** Flags and categories: a set of simple strings. */
export function replyWords(reply: ReplyWriter, words: readonly string[]): void {
  reply.set(words.length);
  for (const word of words) reply.simple(word);
}

/** A map of names to texts and integers. */
export function replyMap(reply: ReplyWriter, fields: readonly (readonly [string, string | number])[]): void {
  reply.map(fields.length);
  for (const [name, value] of fields) replyField(reply, name, value);
}

/** One entry of a map. */
export function replyField(reply: ReplyWriter, name: string, value: string | number): void {
  reply.bulkText(name);
  if (typeof value === 'number') reply.integer(value);
  else reply.bulkText(value);
}
