import type { Expression, FunctionBody, Statement, Target, Variable } from '../parse/syntax.js';
import type { Chunk } from './chunk.js';
import { Expressions, isMultiple } from './expressions.js';
import { Frame } from './frame.js';
import { literal } from './literals.js';
import { operandName } from './names.js';

type Of<T extends Statement['type']> = Extract<Statement, { type: T }>;

/** Every turn of a loop and every call of a function passes it: the host can end a script there. */
const COUNT_TURN = 'if(--running.turns<0)running.interrupt();';

/** The JavaScript of one function: its parameters and its body. */
function generateFunction(chunk: Chunk, { parameters, arg, body, scope }: FunctionBody): string {
  const frame = new Frame(scope);
  const statements = new Statements(chunk, frame);
  const code = statements.block(body);
  const names = parameters.map((parameter) => `L${parameter.id}`);
  if (scope.isVararg) names.push('...V');
  const argTable = arg === undefined ? '' : `let L${arg.id}${scope.usesVarargs ? '' : '=argOf(V)'};`;
  const slots = scope.isVararg ? `${frame.slots}+V.length` : `${frame.slots}`;
  const enter = `${COUNT_TURN}if((running.slots-=${slots})<0)overflow();${argTable}${frame.declaration}`;
  const leave = endsWithReturn(body) ? '' : `${LEAVE}return NONE;`;
  return `(running.bytes-=CLOSURE_BYTES,(${names.join(',')})=>{${enter}${code}${leave}})`.replaceAll(SLOTS, slots);
}

/** The JavaScript of the body of a chunk. Its call is not counted: it is the first. */
export function generateMain(chunk: Chunk, { body, scope }: FunctionBody): string {
  const frame = new Frame(scope);
  const code = new Statements(chunk, frame, true).block(body);
  return `${frame.declaration}${code}${endsWithReturn(body) ? '' : 'return NONE;'}`;
}

/**
 * Stands for the size of the frame until the body is generated. No literal contains it: they have no raw control byte.
 */
const SLOTS = '\u0001';
const LEAVE = `running.slots+=${SLOTS};`;

function endsWithReturn(body: readonly Statement[]): boolean {
  return body.at(-1)?.type === 'return';
}

class Statements {
  readonly #chunk: Chunk;
  readonly #frame: Frame;
  readonly #isMain: boolean;
  readonly #expressions: Expressions;

  constructor(chunk: Chunk, frame: Frame, isMain = false) {
    this.#chunk = chunk;
    this.#frame = frame;
    this.#isMain = isMain;
    this.#expressions = new Expressions(chunk, frame, (body) => generateFunction(chunk, body));
  }

  block(statements: readonly Statement[]): string {
    return statements.map((statement) => this.#statement(statement)).join('');
  }

  #statement(statement: Statement): string {
    this.#frame.release();
    switch (statement.type) {
      case 'local':
        return this.#local(statement);
      case 'localFunction': {
        const { variable, body } = statement;
        return `let L${variable.id};L${variable.id}=${generateFunction(this.#chunk, body)};`;
      }
      case 'assign':
        return this.#assign(statement);
      case 'call':
        return `;${this.#expressions.multiple(statement.call)};`;
      case 'do':
        return `{${this.block(statement.body)}}`;
      case 'while': {
        const condition = this.#expressions.condition(statement.condition);
        return `while(${condition}){${COUNT_TURN}${this.block(statement.body)}}`;
      }
      case 'repeat':
        return this.#repeat(statement);
      case 'if':
        return this.#if(statement);
      case 'numericFor':
        return this.#numericFor(statement);
      case 'genericFor':
        return this.#genericFor(statement);
      case 'return':
        return this.#return(statement);
      case 'break':
        return 'break;';
    }
  }

  #repeat({ condition, body }: Of<'repeat'>): string {
    const code = this.block(body);
    const last = body.at(-1)?.type;
    if (last === 'return' || last === 'break') return `for(;;){${COUNT_TURN}${code}}`;
    this.#frame.release();
    return `for(;;){${COUNT_TURN}${code}if(${this.#expressions.condition(condition)})break;}`;
  }

  #if({ clauses, otherwise }: Of<'if'>): string {
    const parts = clauses.map(({ condition, body }) => {
      this.#frame.release();
      const test = this.#expressions.condition(condition);
      return `if(${test}){${this.block(body)}}`;
    });
    const rest = otherwise === undefined ? '' : `else{${this.block(otherwise)}}`;
    return parts.join('else ') + rest;
  }

  #local({ variables, values }: Of<'local'>): string {
    const [variable] = variables;
    if (variables.length === 1 && values.length === 1) {
      if (this.#chunk.parameters?.alias(variable!, values[0]!) === true) return '';
      return `${declare(variable!, this.#expressions.value(values[0]!))};`;
    }
    if (values.length === 0) return variables.map((each) => `${declare(each, 'undefined')};`).join('');
    const { setup, names } = this.#adjust(values, variables.length);
    return `${setup}${variables.map((each, place) => `${declare(each, names[place]!)};`).join('')}`;
  }

  /** Evaluates a list to a number of values: statements that do it, and the names of the values. */
  #adjust(values: readonly Expression[], count: number): { setup: string; names: string[] } {
    const last = values.at(-1)!;
    if (isMultiple(last) && values.length <= count) {
      const list = this.#frame.temporary();
      const setup = `${list}=${this.#expressions.array(values)};`;
      return { setup, names: Array.from({ length: count }, (_, place) => `${list}[${place}]`) };
    }
    const names: string[] = [];
    const parts = values.map((value, place) => {
      const code = this.#expressions.value(value);
      const name = this.#frame.temporary();
      if (place < count) names.push(name);
      return `${name}=${code};`;
    });
    while (names.length < count) names.push('undefined');
    return { setup: parts.join(''), names };
  }

  #assign({ targets, values, line }: Of<'assign'>): string {
    if (targets.length === 1 && values.length === 1) return this.#assignOne(targets[0]!, values[0]!, line);
    const assigned = new Set(targets.map((target) => (target.type === 'variable' ? target.variable : undefined)));
    const places = targets.map((target) => this.#place(target, assigned));
    const { setup, names } = this.#adjust(values, targets.length);
    const stores = targets.map((target, place) => this.#store(target, places[place]!.names, names[place]!, line));
    return `${places.map((place) => place.setup).join('')}${setup}${stores.reverse().join('')}`;
  }

  #assignOne(target: Target, value: Expression, line: number): string {
    if (target.type === 'variable') return `L${target.variable.id}=${this.#expressions.value(value)};`;
    if (target.type === 'global') return this.#store(target, [], this.#expressions.value(value), line);
    const { object, key } = target;
    if (![object, key].some(changesUnderway)) {
      const names = [this.#expressions.value(object), this.#expressions.value(key)];
      return this.#store(target, names, this.#expressions.value(value), line);
    }
    const { setup, names } = this.#place(target);
    const code = this.#expressions.value(value);
    const temporary = this.#frame.temporary();
    return `${setup}${temporary}=${code};${this.#store(target, names, temporary, line)}`;
  }

  /** The object and the key of a target, evaluated. What the same statement assigns to is copied. */
  #place(target: Target, assigned?: ReadonlySet<Variable | undefined>): { setup: string; names: string[] } {
    if (target.type !== 'index') return { setup: '', names: [] };
    let setup = '';
    const names = [target.object, target.key].map((part) => {
      if (part.type === 'variable' && changesUnderway(part) && assigned?.has(part.variable) !== true)
        return `L${part.variable.id}`;
      const code = this.#expressions.value(part);
      const name = this.#frame.temporary();
      setup += `${name}=${code};`;
      return name;
    });
    return { setup, names };
  }

  #store(target: Target, [object, key]: string[], value: string, line: number): string {
    if (target.type === 'variable') return `L${target.variable.id}=${value};`;
    const operands = target.type === 'index' ? [operandName(target.object)] : [];
    const mark = this.#chunk.marks.mark({ line, operands });
    if (target.type === 'global') return `${mark}setIndex(G,${literal(target.name)},${value});`;
    return `${mark}setIndex(${object},${key},${value});`;
  }

  #numericFor({ variable, start, limit, step, body, line }: Of<'numericFor'>): string {
    const [at, to, by] = [`I${variable.id}`, `M${variable.id}`, `S${variable.id}`];
    const constant = constantStep(step);
    const parts: [string, Expression, string][] = [
      [at, start, 'initial value'],
      [to, limit, 'limit'],
    ];
    if (step !== undefined && constant === undefined) parts.push([by, step, 'step']);
    // All are evaluated before any is looked at.
    const values = parts.map(([name, value]) => `${name}=${this.#expressions.value(value)}`);
    const checks = parts.map(([name, value, what]) => {
      if (value.type === 'number') return '';
      return `${name}=${this.#chunk.marks.mark({ line, operands: [] })}forNumber(${name},${literal(what)});`;
    });
    const stride = constant === undefined ? by : `(${literal(constant)})`;
    // Lua goes one step back before the first: with fractions that does not always lead to where it was.
    const isExact = constant === 1 && start.type === 'number' && Number.isInteger(start.value);
    const first = isExact ? '' : `${at}=${at}-${stride}+${stride}`;
    let test = `${by}>0?${at}<=${to}:${to}<=${at}`;
    if (constant !== undefined) test = constant > 0 ? `${at}<=${to}` : `${to}<=${at}`;
    const loop = `for(${first};${test};${at}+=${stride})`;
    const code = this.block(body);
    return `{let ${values.join(',')};${checks.join('')}${loop}{${COUNT_TURN}${declare(variable, at)};${code}}}`;
  }

  #genericFor({ variables, values, body, line }: Of<'genericFor'>): string {
    const id = `${variables[0]!.id}`;
    const [f, s, c, i, r] = [`F${id}`, `S${id}`, `M${id}`, `I${id}`, `R${id}`];
    const { setup, names } = this.#adjust(values, 3);
    const mark = this.#chunk.marks.mark({ line, operands: [], called: undefined });
    const call = `(typeof ${f}==='function'?${f}:callable(${f}))${mark}(${s},${c})`;
    const [key, value] = variables;
    const isPair = variables.length <= 2;
    const second = value === undefined ? '' : `L${value.id}=${i}.value;`;
    const rest = variables.slice(1).map((each, place) => `L${each.id}=${r}[${place + 1}];`);
    const fast = isPair ? `if(${i}!==undefined){if(!${i}.step())break;L${key!.id}=${i}.key;${second}}else` : '';
    const next = `nest();const ${r}=all(${call});running.nested--;`;
    const step = `{${next}if((${c}=L${key!.id}=${r}[0])===undefined)break;${rest.join('')}}`;
    const declarations = `let ${variables.map((each) => `L${each.id}`).join(',')};`;
    const start = `${setup}const ${f}=${names[0]},${s}=${names[1]};let ${c}=${names[2]};`;
    const iteration = isPair ? `const ${i}=iterationOf(${f},${s},${c});` : '';
    const code = this.block(body);
    return `{${start}${iteration}for(;;){${COUNT_TURN}${declarations}${fast}${step}${code}}}`;
  }

  #return({ values }: Of<'return'>): string {
    const leave = this.#isMain ? '' : LEAVE;
    const [only] = values;
    if (only === undefined) return `${leave}return NONE;`;
    let code: string;
    if (values.length === 1) code = this.#expressions.multiple(only, true);
    else if (isMultiple(values.at(-1)!)) code = `pack(${this.#expressions.array(values)})`;
    else code = `new Values(${this.#expressions.array(values)})`;
    if (this.#isMain) return `return(${code});`;
    const result = this.#frame.temporary();
    return `${result}=${code};${leave}return ${result};`;
  }
}

/** Fresh in every turn of a loop around it, and constant if nothing assigns to it: then V8 knows more about it. */
function declare(variable: Variable, value: string): string {
  return `${variable.assigned ? 'let' : 'const'} L${variable.id}=${value}`;
}

/** A local that a function inside could assign to while the statement runs: Lua reads it at the end. */
function changesUnderway(part: Expression): boolean {
  return part.type === 'variable' && !part.isUpvalue && part.variable.assigned && part.variable.captured;
}

function constantStep(step: Expression | undefined): number | undefined {
  if (step === undefined) return 1;
  return step.type === 'number' ? step.value : undefined;
}
