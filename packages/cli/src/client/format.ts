import { makeVisible } from '@quotadb/wire';
import { DIM, PLAIN } from './colors.js';
import { labelsOf } from './labels.js';
import type { Reply } from './reply.js';

/** How replies are shown to people, after redis-cli: quoted texts, numbered lists, `(integer) 1`. */
export function formatReply(reply: Reply, indent = ''): string {
  switch (reply.kind) {
    case 'nil':
      return '(nil)';
    case 'integer':
      return `(integer) ${reply.text}`;
    case 'double':
      return `(double) ${reply.text}`;
    case 'big':
      return `(big number) ${reply.text}`;
    case 'boolean':
      return reply.value ? '(true)' : '(false)';
    case 'error':
      return `(error) ${makeVisible(reply.text)}`;
    case 'simple':
      return makeVisible(reply.text);
    case 'verbatim':
      return reply.text.trimEnd();
    case 'text':
      return reply.bytes === undefined ? quoted(reply.text) : quotedBytes(reply.bytes);
    case 'map':
      return reply.entries.length === 0 ? '(empty map)' : formatMap(reply.entries, indent);
    default:
      return reply.items.length === 0 ? `(empty ${reply.kind})` : formatItems(reply.items, indent, reply.kind);
  }
}

/** The same, with the meaning of each number behind it for commands that reply with a row of numbers. */
export function formatReplyTo(command: string, reply: Reply, hasColors: boolean): string {
  const labels = labelsOf(command, reply);
  if (labels === undefined) return formatReply(reply);
  const rows = formatReply(reply).split('\n');
  const width = Math.max(...rows.map((row) => row.length));
  const [dim, plain] = hasColors ? [DIM, PLAIN] : ['', ''];
  return rows.map((row, index) => `${row.padEnd(width)}  ${dim}${labels[index]}${plain}`).join('\n');
}

/** The reply as JSON. Integers past 2^53 are texts, so that readers of JSON do not round them. */
export function replyToJson(reply: Reply): unknown {
  switch (reply.kind) {
    case 'nil':
      return null;
    case 'integer':
    case 'double':
    case 'big':
      return exactNumber(reply.text);
    case 'boolean':
      return reply.value;
    case 'error':
      return { error: reply.text };
    case 'map':
      return Object.fromEntries(reply.entries.map(([name, value]) => [plain(name), replyToJson(value)]));
    case 'array':
    case 'set':
    case 'push':
      return reply.items.map(replyToJson);
    default:
      return reply.text;
  }
}

/** For pipes: the content of the reply, byte by byte. */
export function rawReply(reply: Reply): Uint8Array {
  switch (reply.kind) {
    case 'nil':
      return Buffer.alloc(0);
    case 'boolean':
      return Buffer.from(String(reply.value));
    case 'map':
      return lines(reply.entries.flat().map(rawReply));
    case 'array':
    case 'set':
    case 'push':
      return lines(reply.items.map(rawReply));
    case 'verbatim':
      return Buffer.from(reply.text.trimEnd());
    default:
      return reply.bytes ?? Buffer.from(reply.text);
  }
}

function lines(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('\n'), part])));
}

function formatItems(items: readonly Reply[], indent: string, kind: 'array' | 'set' | 'push'): string {
  const width = String(items.length).length;
  const mark = kind === 'set' ? '~' : ')';
  return items
    .map((item, index) => {
      const number = `${String(index + 1).padStart(width)}${mark} `;
      const text = formatReply(item, `${indent}${' '.repeat(number.length)}`);
      return `${index === 0 ? '' : indent}${number}${text}`;
    })
    .join('\n');
}

function formatMap(entries: readonly (readonly [Reply, Reply])[], indent: string): string {
  const width = String(entries.length).length;
  return entries
    .map(([name, value], index) => {
      const lead = `${String(index + 1).padStart(width)}# ${formatReply(name)} => `;
      const isNested = ('entries' in value && value.entries.length > 0) || ('items' in value && value.items.length > 0);
      const inner = isNested ? `\n${indent}   ${formatReply(value, `${indent}   `)}` : formatReply(value);
      return `${index === 0 ? '' : indent}${lead}${inner}`;
    })
    .join('\n');
}

function exactNumber(text: string): number | string {
  const number = Number(text);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : Number.isFinite(number) ? number : text;
}

function plain(reply: Reply): string {
  return 'text' in reply ? reply.text : JSON.stringify(replyToJson(reply));
}

function quoted(text: string): string {
  return `"${makeVisible(text.replaceAll('\\', '\\\\').replaceAll('"', '\\"'))}"`;
}

/** As redis-cli shows bytes, and as the prompt accepts them. */
function quotedBytes(bytes: Buffer): string {
  const ascii = bytes.toString('latin1').replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  const asHex = (character: string) => `\\x${character.charCodeAt(0).toString(16)}`;
  return `"${makeVisible(ascii).replace(/[\u0080-\u00ff]/g, asHex)}"`;
}
