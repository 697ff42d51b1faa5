import { Random } from './random.js';

/**
 * Random Lua programs that end, say what they see, and say the same on every right implementation: they look at no
 * addresses and at no order of hash keys. Each block runs under `pcall`, so an error is one more thing to see.
 */
export function randomProgram(seed: number): string {
  return new ProgramWriter(new Random(seed)).program();
}

/** Writes values in a way that does not depend on the implementation, and ends what would go on for too long. */
export const PRELUDE = `local log, ticks = {}, 0
local function tick() ticks = ticks + 1 if ticks > 3000 then error('too many ticks', 0) end end
local function show(v, depth)
  local t = type(v)
  if t == 'string' then return '"' .. v .. '"' end
  if t == 'number' and v ~= v then return 'NaN' end
  if t ~= 'table' then return t == 'function' and t or tostring(v) end
  if depth > 2 then return '{...}' end
  local parts = {}
  for k, x in pairs(t == 'table' and v or {}) do
    parts[#parts + 1] = '[' .. show(k == 0 and 0 or k, depth + 1) .. ']=' .. show(x, depth + 1)
  end
  table.sort(parts)
  return '{' .. table.concat(parts, ',') .. '}#' .. #v
end
local function out(...)
  tick()
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end
  if #log < 200 then log[#log + 1] = table.concat(parts, ' ') end
end
local ok, problem = pcall(function(...)
`;
/** A table as an error that the script does not catch crashes Redis 7.0. */
export const CONCLUSION = `end)\nif not ok then out('at the top', problem) end\nreturn table.concat(log, '\\n')`;

const NUMBERS = [
  '0',
  '1',
  '2',
  '3',
  '-1',
  '10',
  '0.5',
  '1e15',
  '2^53',
  '-0',
  '1/3',
  '100',
  '7',
  '0x10',
  '1e300',
  '.25',
];
const STRINGS = [
  "''",
  "'a'",
  "'abc'",
  "'10'",
  "'0x10'",
  "' 5 '",
  "'1e2'",
  "'x\\\\y'",
  "'\\0z'",
  '"é"',
  "'and'",
  "'__index'",
];
const KEYS = ['x', 'y', 'n', 'constructor', '__proto__', 'length', 'toString'];
const ARITHMETIC = ['+', '-', '*', '/', '%'];
const COMPARISONS = ['==', '~=', '<', '>', '<=', '>='];
const EVENTS = [
  '__add',
  '__sub',
  '__mul',
  '__div',
  '__mod',
  '__pow',
  '__unm',
  '__concat',
  '__eq',
  '__lt',
  '__le',
  '__call',
];
const DEPTH_MAX = 4;

class ProgramWriter {
  readonly #random: Random;
  #names: string[] = ['a', 'b'];
  #functions: string[] = [];
  #hasVarargs = true;
  #loops = 0;
  #made = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  program(): string {
    const lines = [`local a, b = ${this.#any(1)}, ${this.#table(1)}`];
    const blocks = 3 + this.#random.below(6);
    for (let block = 0; block < blocks; block++) {
      if (this.#random.chance(0.3)) lines.push(this.#localFunction(0));
      lines.push('out(pcall(function(...)', ...this.#body(0), `end${this.#random.pick(['', ', 1', ', 1, nil, 3'])}))`);
    }
    return `${PRELUDE}${lines.join('\n')}\n${CONCLUSION}`;
  }

  #fresh(): string {
    this.#made++;
    return this.#random.chance(0.15)
      ? this.#random.pick(['delete', 'this', 'new', 'L1', 'T1', 'V', 'arg'])
      : `v${this.#made}`;
  }

  /** The lines of a block, with a scope of its own. */
  #body(depth: number): string[] {
    const [names, functions] = [[...this.#names], [...this.#functions]];
    const lines = ['tick()'];
    const count = 1 + this.#random.below(depth > 1 ? 3 : 5);
    for (let line = 0; line < count; line++) lines.push(this.#statement(depth));
    if (this.#random.chance(0.3)) lines.push(`return ${this.#list(depth)}`);
    else if (this.#loops > 0 && this.#random.chance(0.1)) lines.push('break');
    [this.#names, this.#functions] = [names, functions];
    return lines;
  }

  #statement(depth: number): string {
    const choices = [
      () => this.#local(depth),
      () => this.#local(depth),
      () => `${this.#target(depth)} = ${this.#any(depth)}`,
      () => `${this.#target(depth)}, ${this.#target(depth)} = ${this.#list(depth)}`,
      () => `out(${this.#list(depth)})`,
      () => `out(${this.#list(depth)})`,
      () => this.#callStatement(depth),
      () => `do local _ = ${this.#any(depth)} end`,
    ];
    if (depth < DEPTH_MAX - 1) {
      choices.push(
        () => this.#if(depth + 1),
        () => this.#loop(depth + 1),
        () => this.#localFunction(depth + 1),
        () => `do\n${this.#body(depth + 1).join('\n')}\nend`,
        () => `out(pcall(function(...)\n${this.#functionBody(depth + 1)}\nend))`,
      );
    }
    return this.#random.pick(choices)();
  }

  #local(depth: number): string {
    if (this.#random.chance(0.3)) {
      const [first, second] = [this.#fresh(), this.#fresh()];
      const line = `local ${first}, ${second} = ${this.#list(depth)}`;
      this.#names.push(first, second);
      return line;
    }
    const name = this.#fresh();
    const line = `local ${name} = ${this.#any(depth)}`;
    this.#names.push(name);
    return line;
  }

  #localFunction(depth: number): string {
    const name = `f${++this.#made}`;
    const parameters = this.#random.pick([[], ['p'], ['p', 'q'], ['p', '...'], ['...']]);
    const names = this.#names;
    this.#names = [...names, ...parameters.filter((each) => each !== '...')];
    const body = this.#functionBody(depth + 1, parameters.includes('...'));
    this.#names = names;
    this.#functions.push(name);
    return `local function ${name}(${parameters.join(', ')})\n${body}\nend`;
  }

  #functionBody(depth: number, hasVarargs = true): string {
    const [before, loops] = [this.#hasVarargs, this.#loops];
    this.#hasVarargs = hasVarargs;
    this.#loops = 0;
    const body = this.#body(depth).join('\n');
    this.#hasVarargs = before;
    this.#loops = loops;
    return body;
  }

  #if(depth: number): string {
    const otherwise = this.#random.chance(0.4) ? `\nelse\n${this.#body(depth).join('\n')}` : '';
    const middle = this.#random.chance(0.2) ? `\nelseif ${this.#any(depth)} then\n${this.#body(depth).join('\n')}` : '';
    return `if ${this.#any(depth)} then\n${this.#body(depth).join('\n')}${middle}${otherwise}\nend`;
  }

  #loop(depth: number): string {
    const names = this.#names;
    const name = this.#fresh();
    this.#loops++;
    const bounds = this.#random.pick([
      '1, 3',
      '3, 1, -1',
      '0, 1, 0.25',
      `1, ${this.#number(2)}, 2`,
      "'1', 2",
      '1, 2, 0.1',
    ]);
    const start = this.#random.pick<() => string>([
      () => `for ${name} = ${bounds} do`,
      () => `for ${name}, w in ipairs(${this.#table(depth)}) do`,
      () => `for _ in pairs(${this.#table(depth)}) do`,
      () => `local ${name} = 0\nwhile ${name} < 3 do\n${name} = ${name} + 1`,
      () => `local ${name} = 0\nrepeat\n${name} = ${name} + 1`,
    ])();
    this.#names = [...names, name];
    const body = this.#body(depth).join('\n');
    this.#loops--;
    this.#names = names;
    if (!start.includes('repeat')) return `do\n${start}\n${body}\nend\nend`;
    return `do\n${start}\ndo\n${body}\nend\nuntil ${name} > 2 or ${this.#any(depth)}\nend`;
  }

  #target(depth: number): string {
    const name = this.#random.pick(this.#names);
    return this.#random.chance(0.6) ? name : this.#indexed(name, depth);
  }

  #indexed(object: string, depth: number): string {
    if (this.#random.chance(0.6)) return `${object}.${this.#random.pick(KEYS)}`;
    const key = this.#random.chance(0.6) ? this.#random.pick(['1', '2', '3', "'x'", '1.5']) : this.#any(depth + 1);
    return `${object}[${key}]`;
  }

  #list(depth: number): string {
    const count = 1 + this.#random.below(3);
    const items = Array.from({ length: count }, () => this.#any(depth + 1));
    if (this.#random.chance(0.25)) items.push(this.#hasVarargs ? '...' : this.#call(depth + 1));
    return items.join(this.#random.chance(0.05) ? ',\n' : ', ');
  }

  #any(depth: number): string {
    if (depth > DEPTH_MAX) return this.#random.pick(['nil', 'true', '1', "'s'", ...this.#names]);
    const choices = [
      () => this.#number(depth),
      () => this.#string(depth),
      () => this.#table(depth),
      () => this.#random.pick(this.#names),
      () => this.#random.pick(this.#names),
      () => this.#random.pick(['nil', 'true', 'false', this.#hasVarargs ? '...' : 'nil']),
      () => `${this.#any(depth + 1)} ${this.#random.pick(['and', 'or'])} ${this.#any(depth + 1)}`,
      () => `${this.#any(depth + 1)} ${this.#random.pick(COMPARISONS)} ${this.#any(depth + 1)}`,
      () => `(${this.#any(depth + 1)} ${this.#random.pick([...ARITHMETIC, '..', '^'])} ${this.#any(depth + 1)})`,
      () => `${this.#random.pick(['not ', '- ', '#'])}${this.#any(depth + 1)}`,
      () => `(${this.#any(depth + 1)})`,
      () => this.#indexed(this.#random.pick(this.#names), depth),
      () => this.#indexed(`(${this.#any(depth + 1)})`, depth),
      () => this.#call(depth),
      () => this.#call(depth),
    ];
    if (depth < DEPTH_MAX - 1) choices.push(() => `function(...)\n${this.#functionBody(depth + 2)}\nend`);
    return this.#random.pick(choices)();
  }

  #number(depth: number): string {
    if (depth > DEPTH_MAX || this.#random.chance(0.5)) return this.#random.pick(NUMBERS);
    // Powers of fractions are not the same to the last bit everywhere.
    if (this.#random.chance(0.1)) return `(${this.#number(depth + 1)} ^ 2)`;
    const [left, right] = [this.#number(depth + 1), this.#number(depth + 1)];
    return `(${left} ${this.#random.pick(ARITHMETIC)}${this.#random.chance(0.03) ? '\n' : ' '}${right})`;
  }

  #string(depth: number): string {
    if (depth > DEPTH_MAX || this.#random.chance(0.6)) return this.#random.pick(STRINGS);
    return `${this.#random.pick([this.#string(depth + 1), this.#number(depth + 1)])} .. ${this.#string(depth + 1)}`;
  }

  #table(depth: number): string {
    if (depth > DEPTH_MAX) return '{}';
    const items = Array.from({ length: this.#random.below(5) }, () =>
      this.#random.pick<() => string>([
        () => this.#any(depth + 1),
        () => this.#random.pick(['1', 'nil', "'s'"]),
        () => `${this.#random.pick(KEYS)} = ${this.#any(depth + 1)}`,
        () => `[${this.#random.pick(['1', '2', '4', "'x'", '1.5', this.#any(depth + 1)])}] = ${this.#any(depth + 1)}`,
      ])(),
    );
    const table = `{${items.join(', ')}}`;
    return this.#random.chance(0.2) ? `setmetatable(${table}, ${this.#metatable(depth)})` : table;
  }

  #metatable(depth: number): string {
    const handler = (parameters: string) => `function(${parameters}) tick() return ${this.#list(depth + 2)} end`;
    const parts = [this.#random.pick(EVENTS), this.#random.pick(EVENTS)].map(
      (event) => `${event} = ${handler('l, ...')}`,
    );
    if (this.#random.chance(0.5))
      parts.push(`__index = ${this.#random.pick([handler('t, ...'), '{x = 1, y = {}}', this.#any(depth + 2)])}`);
    if (this.#random.chance(0.2)) parts.push(`__newindex = function(t, k, v) rawset(t, k, v) end`);
    return `{${parts.join(', ')}}`;
  }

  #call(depth: number): string {
    const list = depth > DEPTH_MAX ? '1' : this.#list(depth + 1);
    const table = () => this.#table(depth + 1);
    const choices = [
      () => `tonumber(${this.#string(depth + 1)})`,
      () => `type(${list})`,
      () => `select('#', ${list})`,
      () => `select(${this.#random.pick(['1', '2', '-1', '9'])}, ${list})`,
      () => `unpack(${table()})`,
      () => `pcall(${this.#callee()}, ${list})`,
      () => `pcall(error, ${list})`,
      () => `error(${list})`,
      () => `rawget(${table()}, ${list})`,
      () => `rawequal(${list}, ${this.#random.pick(this.#names)})`,
      () =>
        `math.${this.#random.pick(['floor', 'ceil', 'max', 'min', 'abs', 'fmod', 'modf', 'frexp', 'sqrt'])}(${list})`,
      () => `table.concat(${table()}, ${list})`,
      () => `table.remove(${this.#random.pick(this.#names)})`,
      () => `table.insert(${this.#random.pick(this.#names)}, ${list})`,
      () => `assert(${list})`,
      () => `${this.#callee()}(${list})`,
      () => `${this.#callee()}(${list})`,
      () => `(${this.#any(depth + 1)})(${list})`,
      () => `${this.#random.pick(this.#names)}:${this.#random.pick(KEYS)}(${list})`,
      () => `setmetatable(${table()}, ${depth > 2 ? '{}' : this.#metatable(depth)})`,
      () => `getmetatable(${list})`,
      () => `xpcall(function(...) tick() return ${this.#list(depth + 2)} end, function(e) return e end)`,
    ];
    return this.#random.pick(choices)();
  }

  /** One that begins with a parenthesis would go on with the line before. */
  #callStatement(depth: number): string {
    const call = this.#call(depth);
    return call.startsWith('(') ? `local _ = ${call}` : call;
  }

  #callee(): string {
    const candidates = [...this.#functions, ...this.#functions, ...this.#names];
    return this.#random.pick(candidates);
  }
}
