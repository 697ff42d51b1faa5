import { isConstant } from '../parse/fold.js';
import type { Expression, FunctionBody, TableItem, Variable } from '../parse/syntax.js';
import type { Chunk } from './chunk.js';
import type { Frame } from './frame.js';
import { literal } from './literals.js';
import { calledName, operandName } from './names.js';
import { isParameter } from './parameters.js';

type Of<T extends Expression['type']> = Extract<Expression, { type: T }>;

const ARITHMETIC: Readonly<Record<string, readonly [string, string]>> = {
  '+': ['add', '+'],
  '-': ['subtract', '-'],
  '*': ['multiply', '*'],
  '/': ['divide', '/'],
};

/** How an operand is read: what must be done before, and then its name or literal. */
interface Operand {
  readonly setup: string;
  readonly name: string;
  readonly isNumber: boolean;
}

/** The JavaScript of expressions in one function. */
export class Expressions {
  readonly #chunk: Chunk;
  readonly #frame: Frame;
  readonly #functionOf: (body: FunctionBody) => string;

  constructor(chunk: Chunk, frame: Frame, functionOf: (body: FunctionBody) => string) {
    this.#chunk = chunk;
    this.#frame = frame;
    this.#functionOf = functionOf;
  }

  /** Exactly one value. */
  value(expression: Expression): string {
    switch (expression.type) {
      case 'nil':
        return 'undefined';
      case 'true':
      case 'false':
        return expression.type;
      case 'number':
        return literal(this.#frame.number(expression.value));
      case 'string':
        return literal(expression.value);
      case 'varargs':
        return 'V[0]';
      case 'variable':
        return this.#aliased(expression.variable, 'get') ?? `L${expression.variable.id}`;
      case 'global':
        return this.#global(expression);
      case 'index':
        return this.#index(expression);
      case 'call':
      case 'method':
        return `first(${this.multiple(expression)})`;
      case 'binary':
        return this.#binary(expression);
      case 'and':
      case 'or':
        return this.#choice(expression);
      case 'unary':
        return this.#unary(expression);
      case 'parentheses':
        return this.value(expression.inner);
      case 'table':
        return this.#table(expression);
      case 'function':
        return this.#functionOf(expression.body);
    }
  }

  /** Any number of values: what a function returns. */
  multiple(expression: Expression, tail = false): string {
    switch (expression.type) {
      case 'varargs':
        return 'pack(V)';
      case 'call':
        return this.#call(expression, tail);
      case 'method':
        return this.#method(expression, tail);
      default:
        return this.value(expression);
    }
  }

  /** A JavaScript array of the values of a list, in which the last expression may stand for many. */
  array(list: readonly Expression[]): string {
    const last = list.at(-1);
    if (last === undefined || !isMultiple(last)) return `[${list.map((each) => this.value(each)).join(',')}]`;
    // In the order of the source: the first zero in it gives all zeros their sign.
    const before = list.slice(0, -1).map((each) => `${this.value(each)},`);
    const rest = last.type === 'varargs' ? 'V' : `all(${this.multiple(last)})`;
    return before.length === 0 ? rest : `[${before.join('')}...${rest}]`;
  }

  /** A JavaScript boolean. */
  condition(expression: Expression): string {
    switch (expression.type) {
      case 'nil':
      case 'false':
        return 'false';
      case 'true':
      case 'number':
      case 'string':
      case 'table':
      case 'function':
        return expression.type === 'table' ? `(${this.value(expression)},true)` : 'true';
      case 'parentheses':
        return this.condition(expression.inner);
      case 'and':
        return `(${this.condition(expression.left)}&&${this.condition(expression.right)})`;
      case 'or':
        return `(${this.condition(expression.left)}||${this.condition(expression.right)})`;
      case 'unary':
        if (expression.operator === 'not') return `!${this.condition(expression.operand)}`;
        break;
      case 'binary':
        if (/[=<>]/.test(expression.operator)) return this.value(expression);
        break;
    }
    const { setup, name } = this.#operand(expression);
    return `(${setup}${name}!==undefined&&${name}!==false)`;
  }

  #operand(expression: Expression): Operand {
    if (expression.type === 'parentheses') return this.#operand(expression.inner);
    if (expression.type === 'number' || expression.type === 'string') {
      return { setup: '', name: this.value(expression), isNumber: expression.type === 'number' };
    }
    if (expression.type === 'variable' && this.#aliased(expression.variable, 'get') === undefined) {
      const { variable, isUpvalue } = expression;
      const isNumber = variable.isCounter && !variable.assigned;
      // Lua copies an upvalue when it is evaluated, but reads a local only in the operation.
      if (!isUpvalue || !variable.assigned) return { setup: '', name: `L${variable.id}`, isNumber };
    }
    const code = this.value(expression);
    const name = this.#frame.temporary();
    return { setup: `${name}=${code},`, name, isNumber: false };
  }

  #global({ name, line }: Of<'global'>): string {
    const { constants, parameters } = this.#chunk;
    if (isParameter(name) && parameters !== undefined) return parameters.asTable(name);
    const constant = isParameter(name) ? undefined : constants.global(name);
    if (constant !== undefined) return constant;
    return `${this.#mark(line, [])}index(G,${literal(name)})`;
  }

  #mark(line: number, operands: (string | undefined)[]): string {
    return this.#chunk.marks.mark({ line, operands });
  }

  #index({ object, key, line }: Of<'index'>): string {
    if (object.type === 'global' && key.type === 'string') {
      const constant = this.#chunk.constants.field(object.name, key.value);
      if (constant !== undefined) return constant;
    }
    const words = this.#chunk.parameters?.withWords(object);
    if (words !== undefined) return `${words}.get(${this.value(key)})`;
    const from = this.#operand(object);
    const mark = this.#mark(line, [operandName(object)]);
    const fast = fastKey(key);
    if (fast === undefined || isConstant(object)) {
      const by = this.#operand(key);
      return `(${from.setup}${by.setup}${mark}index(${from.name},${by.name}))`;
    }
    const found = this.#frame.temporary();
    const isTable = from.name === 'K' || from.name === 'A' ? '' : `typeof ${from.name}==='object'&&`;
    const test = `${isTable}(${found}=${from.name}.${fast})!==undefined`;
    return `(${from.setup}${test}?${found}:${mark}index(${from.name},${this.value(key)}))`;
  }

  #binary(expression: Of<'binary'>): string {
    const { operator, left, right, line } = expression;
    if (operator === '..') return this.#concat(expression);
    if (operator === '==' || operator === '~=') return this.#equality(expression);
    const names = [operandName(left), operandName(right)];
    const [a, b] = this.#operands(expression);
    const setup = a.setup + b.setup;
    const mark = this.#mark(line, names);
    const numbers = [a, b].filter((each) => !each.isNumber).map((each) => `typeof ${each.name}==='number'`);
    if (operator === '%' || operator === '^') {
      return `(${setup}${mark}${operator === '%' ? 'mod' : 'pow'}(${a.name},${b.name}))`;
    }
    let fast: string;
    let slow: string;
    const arithmetic = ARITHMETIC[operator];
    if (arithmetic !== undefined) {
      fast = `${a.name}${arithmetic[1]} ${b.name}`;
      slow = `${arithmetic[0]}(${a.name},${b.name})`;
    } else {
      fast = `${a.name}${operator} ${b.name}`;
      const compare = operator.endsWith('=') ? 'lessOrEqual' : 'lessThan';
      slow = operator.startsWith('>') ? `${compare}(${b.name},${a.name})` : `${compare}(${a.name},${b.name})`;
    }
    if (numbers.length === 0) return `(${setup}${fast})`;
    return `(${setup}${numbers.join('&&')}?${fast}:${mark}${slow})`;
  }

  /**
   * Lua's compiler comes to a number on the left of an arithmetic operator last: see Frame.number. lcode.c, codearith.
   */
  #operands({ operator, left, right }: Of<'binary'>): [Operand, Operand] {
    if (!isNumeral(left) || /[<>]/.test(operator)) return [this.#operand(left), this.#operand(right)];
    const b = this.#operand(right);
    return [this.#operand(left), b];
  }

  #equality({ operator, left, right, line }: Of<'binary'>): string {
    const [a, b] = [this.#operand(left), this.#operand(right)];
    const setup = a.setup + b.setup;
    const mark = this.#mark(line, []);
    const not = operator === '~=' ? '!' : '';
    if (isConstant(left) || isConstant(right)) return `(${setup}${a.name}${not || '='}==${b.name})`;
    return `(${setup}${not}(${a.name}===${b.name}||${mark}equal(${a.name},${b.name})))`;
  }

  /** A chain is one operation in Lua, done from the right once all operands are there. */
  #concat({ left, right, line }: Of<'binary'>): string {
    const operands = [left];
    let rest = right;
    while (rest.type === 'binary' && rest.operator === '..') {
      operands.push(rest.left);
      rest = rest.right;
    }
    operands.push(rest);
    const mark = this.#mark(line, operands.map(operandName));
    const values = operands.map((each) => this.value(each)).join(',');
    return operands.length === 2 ? `${mark}concat(${values})` : `${mark}concatAll([${values}])`;
  }

  #choice({ type, left, right }: Of<'and' | 'or'>): string {
    const { setup, name } = this.#operand(left);
    const isTrue = `${name}!==undefined&&${name}!==false`;
    const other = this.value(right);
    return type === 'and' ? `(${setup}${isTrue}?${other}:${name})` : `(${setup}${isTrue}?${name}:${other})`;
  }

  #unary({ operator, operand, line }: Of<'unary'>): string {
    if (operator === 'not') return `!${this.condition(operand)}`;
    const words = operator === '#' ? this.#chunk.parameters?.withWords(operand) : undefined;
    if (words !== undefined) return `${words}.length`;
    const mark = this.#mark(line, [operandName(operand)]);
    return `${mark}${operator === '-' ? 'negate' : 'lengthOf'}(${this.value(operand)})`;
  }

  #call({ callee, args, line }: Of<'call'>, tail: boolean): string {
    const site = { line, operands: [operandName(callee)], called: calledName(callee), tail };
    const target = this.value(callee);
    const mark = this.#chunk.marks.mark(site);
    const isConstant = /^C\d+$/.test(target) && this.#chunk.constants.isFunction(target);
    return this.#frame.holding(args.length + 2, () => {
      if (hasManyValues(args)) return `${mark}apply(${target},${this.array(args)})`;
      if (isConstant && this.#chunk.constants.takesWords(target)) {
        return `${mark}${target}(${args.map((each, place) => this.#word(each, place)).join(',')})`;
      }
      const list = args.map((each) => this.value(each)).join(',');
      if (isConstant) return `${mark}${target}(${list})`;
      if (callee.type === 'variable') {
        return `(typeof ${target}==='function'?${target}:callable(${target}))${mark}(${list})`;
      }
      const name = this.#frame.temporary();
      return `(typeof (${name}=${target})==='function'?${name}:callable(${name}))${mark}(${list})`;
    });
  }

  /** An argument of a function that takes words. The first is the name of a command. */
  #word(expression: Expression, place: number): string {
    let word: string | undefined;
    if (place > 0 && expression.type === 'variable') word = this.#aliased(expression.variable, 'word');
    if (place > 0 && expression.type === 'index') {
      const words = this.#chunk.parameters?.withWords(expression.object);
      if (words !== undefined) word = `${words}.word(${this.value(expression.key)})`;
    }
    return word ?? this.value(expression);
  }

  #aliased(variable: Variable, method: 'get' | 'word'): string | undefined {
    return this.#chunk.parameters?.aliased(variable, method);
  }

  #method({ object, name, args, line }: Of<'method'>, tail: boolean): string {
    const self = this.#operand(object);
    const find = this.#mark(line, [operandName(object)]);
    const mark = this.#chunk.marks.mark({ line, operands: [`method '${name}'`], called: name, kind: 'method', tail });
    const target = this.#frame.temporary();
    const look = `${self.setup}${target}=${find}index(${self.name},${literal(name)})`;
    return this.#frame.holding(args.length + 3, () => {
      const list = args.length === 0 ? '' : `,${args.map((each) => this.value(each)).join(',')}`;
      if (!hasManyValues(args)) {
        return `(${look},typeof ${target}==='function'?${target}:callable(${target}))${mark}(${self.name}${list})`;
      }
      return `(${look},${mark}apply(${target},[${self.name},...${this.array(args)}]))`;
    });
  }

  #table({ items }: Of<'table'>): string {
    const keyed = items.filter((item) => item.key !== undefined);
    const listed = items.filter((item) => item.key === undefined).map((item) => item.value);
    if (keyed.length === 0) return this.#list(listed);
    const table = this.#frame.temporary();
    const last = items.at(-1)!;
    const many = last.key === undefined && isMultiple(last.value);
    const start = `${table}=makeTable(${listed.length - (many ? 1 : 0)},${keyed.length})`;
    const isPlain = keyed.every((item) => item.key?.type === 'string');
    const pending = isPlain ? undefined : this.#frame.temporary();
    let place = 0;
    const steps = items.map((item) => {
      if (item.key !== undefined) return this.#field(table, item);
      if (many && item === last) {
        const values = last.value.type === 'varargs' ? 'V' : `all(${this.multiple(last.value)})`;
        return pending === undefined ? `setRest(${table},${place},${values})` : `${pending}.push(...${values})`;
      }
      const value = this.value(item.value);
      return pending === undefined ? `${table}.array[${place++}]=${value}` : `${pending}.push(${value})`;
    });
    if (pending === undefined) return `(${[start, ...steps, table].join(',')})`;
    return `(${[start, `${pending}=[]`, ...steps, `setRest(${table},0,${pending})`, table].join(',')})`;
  }

  #field(table: string, { key, value, line }: TableItem): string {
    if (key?.type === 'string') return `${table}.set(${literal(key.value)},${this.value(value)})`;
    return `${this.#mark(line, [])}setIndex(${table},${this.value(key!)},${this.value(value)})`;
  }

  #list(listed: readonly Expression[]): string {
    if (listed.length === 0) return 'new Table([])';
    const last = listed.at(-1)!;
    const array = this.array(listed);
    if (isMultiple(last)) return `listOf(${array},${listed.length - 1})`;
    return listed.length > EXACT_SLOTS ? `listOf(${array},${listed.length})` : `new Table(${array})`;
  }
}

/** Lua gives a constructor of up to 16 items exactly as many slots, a longer one some more. */
const EXACT_SLOTS = 16;

export function isMultiple(expression: Expression): boolean {
  return expression.type === 'call' || expression.type === 'method' || expression.type === 'varargs';
}

function hasManyValues(list: readonly Expression[]): boolean {
  const last = list.at(-1);
  return last !== undefined && isMultiple(last);
}

/** Where a constant key is looked for first. */
function fastKey(key: Expression): string | undefined {
  if (key.type === 'string') return `hash.get(${literal(key.value)})`;
  if (key.type === 'number' && Number.isInteger(key.value) && key.value >= 1 && key.value <= 1000) {
    return `array[${key.value - 1}]`;
  }
  return undefined;
}

function isNumeral(expression: Expression): boolean {
  return expression.type === 'parentheses' ? isNumeral(expression.inner) : expression.type === 'number';
}
