import { foldBinary, foldChoice, foldUnary, isConstant } from './fold.js';
import { NAME, NUMBER, STRING } from './lexer.js';
import type { Scopes } from './scopes.js';
import type {
  BinaryOperator,
  Expression,
  FunctionBody,
  Statement,
  TableItem,
  UnaryOperator,
  Variable,
} from './syntax.js';
import type { Tokens } from './tokens.js';

/** How tight an operator binds to its left and to its right. */
const PRIORITIES: Readonly<Record<string, readonly [number, number]>> = {
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
  '..': [5, 4],
  '~=': [3, 3],
  '==': [3, 3],
  '<': [3, 3],
  '<=': [3, 3],
  '>': [3, 3],
  '>=': [3, 3],
  and: [2, 2],
  or: [1, 1],
};
const UNARY_PRIORITY = 8;

/** The expressions of lparser.c. Errors come in the same order, so that they are the same. */
export class ExpressionParser {
  protected readonly tokens: Tokens;
  protected readonly scopes: Scopes;
  readonly #block: () => Statement[];

  constructor(tokens: Tokens, scopes: Scopes, block: () => Statement[]) {
    this.tokens = tokens;
    this.scopes = scopes;
    this.#block = block;
  }

  list(): Expression[] {
    const expressions = [this.expression()];
    while (this.tokens.test(',')) expressions.push(this.expression());
    return expressions;
  }

  expression(limit = 0): Expression {
    return this.tokens.nested(() => {
      let left = this.#unary();
      for (;;) {
        const operator = this.tokens.type;
        const priority = Object.hasOwn(PRIORITIES, operator) ? PRIORITIES[operator] : undefined;
        if (priority === undefined || priority[0] <= limit) return left;
        this.tokens.take();
        const right = this.expression(priority[1]);
        const line = this.tokens.lastLine;
        if (operator === 'and' || operator === 'or') left = foldChoice({ type: operator, left, right });
        else left = foldBinary({ type: 'binary', operator: operator as BinaryOperator, left, right, line });
      }
    });
  }

  #unary(): Expression {
    const operator = this.tokens.type;
    if (operator !== '-' && operator !== 'not' && operator !== '#') return this.#simple();
    this.tokens.take();
    const operand = this.expression(UNARY_PRIORITY);
    return foldUnary({ type: 'unary', operator: operator as UnaryOperator, operand, line: this.tokens.lastLine });
  }

  #simple(): Expression {
    const { tokens, scopes } = this;
    switch (tokens.type) {
      case NUMBER:
        return { type: 'number', value: Number(tokens.take().value) };
      case STRING:
        return { type: 'string', value: String(tokens.take().value) };
      case 'nil':
      case 'true':
      case 'false':
        return { type: tokens.take().type as 'nil' | 'true' | 'false' };
      case '...':
        if (!scopes.current.isVararg) tokens.fail("cannot use '...' outside a vararg function");
        scopes.current.usesVarargs = true;
        tokens.take();
        return { type: 'varargs' };
      case '{':
        return this.#table();
      case 'function': {
        tokens.take();
        return { type: 'function', body: this.body(false, tokens.line) };
      }
      default:
        return this.primary();
    }
  }

  #prefix(): Expression {
    const { tokens } = this;
    if (tokens.type === NAME) {
      const name = tokens.name();
      return this.scopes.resolve(name, tokens.lastLine);
    }
    if (tokens.type !== '(') return tokens.fail('unexpected symbol');
    const { line } = tokens;
    tokens.take();
    const inner = this.expression();
    tokens.close(')', '(', line);
    // Of a constant they change nothing, and `(2) + 1` is computed now.
    return isConstant(inner) ? inner : { type: 'parentheses', inner };
  }

  primary(): Expression {
    const { tokens } = this;
    let found = this.#prefix();
    for (;;) {
      switch (tokens.type) {
        case '.': {
          tokens.take();
          const key: Expression = { type: 'string', value: tokens.name() };
          found = { type: 'index', object: found, key, line: tokens.lastLine };
          break;
        }
        case '[': {
          const key = this.#bracketed();
          found = { type: 'index', object: found, key, line: tokens.lastLine };
          break;
        }
        case ':': {
          tokens.take();
          const name = tokens.name();
          const { line } = tokens;
          found = { type: 'method', object: found, name, args: this.#arguments(), line };
          break;
        }
        case '(':
        case STRING:
        case '{': {
          const { line } = tokens;
          found = { type: 'call', callee: found, args: this.#arguments(), line };
          break;
        }
        default:
          return found;
      }
    }
  }

  #bracketed(): Expression {
    this.tokens.take();
    const key = this.expression();
    this.tokens.expect(']');
    return key;
  }

  #arguments(): Expression[] {
    const { tokens } = this;
    const { line } = tokens;
    switch (tokens.type) {
      case STRING:
        return [{ type: 'string', value: String(tokens.take().value) }];
      case '{':
        return [this.#table()];
      case '(': {
        if (line !== tokens.lastLine) tokens.fail('ambiguous syntax (function call x new statement)');
        tokens.take();
        const list = tokens.is(')') ? [] : this.list();
        tokens.close(')', '(', line);
        return list;
      }
      default:
        return tokens.fail('function arguments expected');
    }
  }

  #table(): Expression {
    const { tokens } = this;
    const { line } = tokens;
    const items: TableItem[] = [];
    tokens.expect('{');
    while (tokens.type !== '}') {
      items.push(this.#item());
      if (!tokens.test(',') && !tokens.test(';')) break;
    }
    tokens.close('}', '{', line);
    return { type: 'table', items, line: tokens.lastLine };
  }

  #item(): TableItem {
    const { tokens } = this;
    let key: Expression | undefined;
    if (tokens.type === '[') key = this.#bracketed();
    else if (tokens.type === NAME && tokens.peek() === '=') key = { type: 'string', value: tokens.name() };
    if (key !== undefined) tokens.expect('=');
    const value = this.expression();
    return { key, value, line: tokens.lastLine };
  }

  /** From the parameters to `end`. `line` is where the function began. */
  body(isMethod: boolean, line: number): FunctionBody {
    const { tokens, scopes } = this;
    const scope = scopes.enterFunction(line);
    tokens.expect('(');
    const parameters: Variable[] = isMethod ? [scopes.declare('self', 0)] : [];
    let arg: Variable | undefined;
    if (tokens.type !== ')') {
      do {
        if (tokens.type === NAME) parameters.push(scopes.declare(tokens.name(), parameters.length));
        else if (tokens.test('...')) {
          arg = scopes.declare('arg', parameters.length);
          scope.isVararg = true;
        } else tokens.fail("<name> or '...' expected");
      } while (!scope.isVararg && tokens.test(','));
    }
    scopes.activate(arg === undefined ? parameters : [...parameters, arg]);
    tokens.expect(')');
    const body = this.#block();
    tokens.close('end', 'function', line);
    scopes.leaveFunction();
    return { parameters, arg, body, scope };
  }
}
