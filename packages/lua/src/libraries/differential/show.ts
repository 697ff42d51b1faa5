import type { Table } from '../../values/table.js';
import type { Value } from '../../values/value.js';
import { printFloat } from '../string/directive.js';

/** A Lua value as a text that is the same on both sides: tables by their sorted entries, numbers with all digits. */
export function show(value: Value): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'string':
      return `s${value.length}:${value}`;
    case 'number':
      return Number.isNaN(value) ? 'nan' : printFloat(SEVENTEEN_DIGITS, value);
    case 'object':
      return `{${entriesOf(value)
        .map(([key, kept]) => Buffer.from(`${show(key)}=${show(kept)}`, 'latin1').toString('hex'))
        .sort()
        .join(',')}}`;
    case 'symbol':
      return 'userdata';
    default:
      return typeof value === 'boolean' ? String(value) : typeof value;
  }
}

const SEVENTEEN_DIGITS = {
  leftAligned: false,
  plus: false,
  space: false,
  alternative: false,
  zeroPadded: false,
  width: 0,
  precision: 17,
  conversion: 'g',
};

/** The same in Lua. */
export const SHOW_IN_LUA = `
local function show(v)
  local t = type(v)
  if t == 'string' then return 's' .. #v .. ':' .. v end
  if t == 'number' then return v ~= v and 'nan' or string.format('%.17g', v) end
  if t == 'nil' then return 'nil' end
  if t == 'boolean' then return tostring(v) end
  if t ~= 'table' then return t end
  local entries = {}
  for k, x in pairs(v) do
    entries[#entries + 1] = string.gsub(show(k) .. '=' .. show(x), '.', function(c)
      return string.format('%02x', string.byte(c))
    end)
  end
  table.sort(entries)
  return '{' .. table.concat(entries, ',') .. '}'
end
local function showAll(...)
  local texts = {}
  for i = 1, select('#', ...) do texts[i] = show((select(i, ...))) end
  return table.concat(texts, ' ')
end
-- Errors of functions that Lua calls have a position; ours, called from a test, do not.
local function withoutPosition(ok, ...)
  if ok then return ... end
  error((string.gsub(..., '^user_script:%d+: ', '')), 0)
end
local function plainly(f)
  return function(...) return withoutPosition(pcall(f, ...)) end
end
`;

function entriesOf(table: Table): [Value, Value][] {
  const list: [Value, Value][] = [];
  for (const [slot, value] of table.array.entries()) if (value !== undefined) list.push([slot + 1, value]);
  for (const [key, value] of table.hash) if (value !== undefined) list.push([key, value]);
  return list;
}

/** A value as an expression of Lua. */
export function luaLiteral(value: Value): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'string':
      return `"${[...value].map((byte) => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`).join('')}"`;
    case 'number':
      if (Number.isNaN(value)) return '(0/0)';
      // A constant that is 0 may be shared with one that is -0.
      if (Object.is(value, -0)) return 'tonumber("-0")';
      return Number.isFinite(value) ? `(${value})` : `(${value < 0 ? '-' : ''}1/0)`;
    case 'boolean':
      return String(value);
    case 'object':
      return `{${entriesOf(value)
        .map(([key, kept]) => `[${luaLiteral(key)}]=${luaLiteral(kept)}`)
        .join(',')}}`;
    case 'symbol':
      return 'cjson.null';
    default:
      throw new Error('A function has no literal.');
  }
}
