import { beforeZero, running, Table, type Value } from '@quotadb/lua';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { withoutLineEnd } from './error-table.js';
import { numberText } from './number-text.js';
import { ScriptEnded } from './script-watch.js';

/** Levels of tables in tables. In Redis Lua's stack ends after 7995 of arrays; no client reads a reply as deep. */
const MAXIMUM_LEVELS = 1000;

/**
 * A table may be in another many times, and so a result of a few bytes of memory a reply without end. As much as one
 * run may allocate, and as KEYS replies.
 */
const MAXIMUM_BYTES = 128 * 1024 * 1024;

/** Past this, (long long) of a double is the smallest integer, as x86 converts it. */
const INT64_LIMIT = 2 ** 63;
const UNSIGNED_WORD = 0x1_0000_0000;

/**
 * Writes the result of a script as a reply, as Redis does: a number is cut to an integer, an array ends at its first
 * nil, and tables with a field `err`, `ok`, `double`, `map`, `set`, `big_number` or `verbatim_string` are what these
 * say. `booleans` is true after redis.setresp(3); without it true is 1 and false is null.
 */
export class ResultWriter {
  private readonly reply: ReplyWriter;
  private readonly booleans: boolean;
  private readonly end: number;

  constructor(reply: ReplyWriter, booleans: boolean) {
    this.reply = reply;
    this.booleans = booleans;
    this.end = reply.length + MAXIMUM_BYTES;
  }

  write(value: Value, levels = MAXIMUM_LEVELS): void {
    const { reply } = this;
    // A large one takes as long as a loop does, and is looked after as one.
    running.work(1);
    if (reply.length > this.end) throw new ScriptEnded(errors.scriptResultTooLarge(MAXIMUM_BYTES));
    if (typeof value === 'string') reply.bulkLatin1(value);
    else if (typeof value === 'number') writeInteger(reply, value);
    else if (value instanceof Table) this.table(value, levels);
    else if (typeof value !== 'boolean') reply.nil();
    else if (this.booleans) reply.boolean(value);
    else if (value) reply.integer(1);
    else reply.nil();
  }

  private table(table: Table, levels: number): void {
    const { reply } = this;
    if (levels <= 0) {
      reply.error(errors.luaStackLimit);
      return;
    }
    if (table.hash.size === 0) {
      this.array(table, levels - 1);
      return;
    }
    const error = table.get('err');
    const status = table.get('ok');
    const double = table.get('double');
    const map = table.get('map');
    const set = table.get('set');
    const bigNumber = table.get('big_number');
    const verbatim = table.get('verbatim_string');
    if (typeof error === 'string') reply.errorLatin1(withoutLineEnd(beforeZero(error)));
    else if (typeof status === 'string') reply.simpleLatin1(beforeZero(status));
    else if (typeof double === 'number') this.double(double);
    else if (map instanceof Table) this.map(map, levels - 1);
    else if (set instanceof Table) this.set(set, levels - 1);
    else if (typeof bigNumber === 'string') this.bigNumber(bigNumber);
    else if (!(verbatim instanceof Table && this.verbatim(verbatim))) this.array(table, levels - 1);
  }

  private array(table: Table, levels: number): void {
    let count = 0;
    while (table.get(count + 1) !== undefined) count++;
    this.reply.array(count);
    for (let index = 1; index <= count; index++) this.write(table.get(index), levels);
  }

  private map(table: Table, levels: number): void {
    const keys = keysOf(table);
    this.reply.map(keys.length);
    for (const key of keys) {
      this.write(key, levels);
      this.write(table.get(key), levels);
    }
  }

  private set(table: Table, levels: number): void {
    const keys = keysOf(table);
    this.reply.set(keys.length);
    for (const key of keys) this.write(key, levels);
  }

  private double(value: number): void {
    const text = numberText(value);
    if (this.reply.protocol === 3) this.reply.raw(Buffer.from(`,${text}\r\n`));
    else this.reply.bulkLatin1(text);
  }

  private bigNumber(text: string): void {
    const line = text.replace(/[\r\n]/g, ' ');
    if (this.reply.protocol === 3) this.reply.raw(Buffer.from(`(${line}\r\n`, 'latin1'));
    else this.reply.bulkLatin1(line);
  }

  private verbatim(table: Table): boolean {
    const format = table.get('format');
    const text = table.get('string');
    if (typeof format !== 'string' || typeof text !== 'string') return false;
    if (this.reply.protocol !== 3) {
      this.reply.bulkLatin1(text);
      return true;
    }
    const content = `${format.slice(0, 3).padEnd(3)}:${text}`;
    this.reply.raw(Buffer.from(`=${content.length}\r\n${content}\r\n`, 'latin1'));
    return true;
  }
}

function keysOf(table: Table): Value[] {
  const keys: Value[] = [];
  for (let key = table.nextKey(undefined); key !== undefined; key = table.nextKey(key)) keys.push(key);
  return keys;
}

function writeInteger(reply: ReplyWriter, value: number): void {
  const whole = Math.trunc(value);
  if (!(Math.abs(whole) < INT64_LIMIT)) reply.integer64(-0x8000_0000, 0);
  else if (Number.isSafeInteger(whole)) reply.integer(whole);
  else {
    const high = Math.floor(whole / UNSIGNED_WORD);
    reply.integer64(high, (whole - high * UNSIGNED_WORD) | 0);
  }
}
