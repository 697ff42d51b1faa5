import { ExpressionParser } from './expressions.js';
import { END } from './lexer.js';
import { Scopes } from './scopes.js';
import type { Expression, FunctionBody, Statement, Target } from './syntax.js';
import { Tokens } from './tokens.js';

/** Targets of one assignment. */
const TARGETS_MAX = 195;

/** The syntax tree of a chunk, with names resolved. Throws LuaSyntaxError with Lua's own words. */
export function parse(source: string, chunkName: string): FunctionBody {
  return new Parser(source, chunkName).chunk();
}

/** The statements of lparser.c. */
class Parser {
  readonly #tokens: Tokens;
  readonly #scopes: Scopes;
  readonly #expressions: ExpressionParser;

  constructor(source: string, chunkName: string) {
    const tokens = new Tokens(source, chunkName);
    this.#tokens = tokens;
    this.#scopes = new Scopes((text) => tokens.failPlainly(text));
    this.#expressions = new ExpressionParser(tokens, this.#scopes, () => this.#block());
  }

  chunk(): FunctionBody {
    const body = this.#block();
    this.#tokens.expect(END);
    return { parameters: [], arg: undefined, body, scope: this.#scopes.current };
  }

  /** Statements with a scope of their own. */
  #block(): Statement[] {
    const length = this.#scopes.current.active.length;
    const body = this.#statements();
    this.#scopes.cut(length);
    return body;
  }

  #statements(): Statement[] {
    const tokens = this.#tokens;
    return tokens.nested(() => {
      const statements: Statement[] = [];
      while (!this.#atEndOfBlock()) {
        const statement = this.#statement();
        statements.push(statement);
        tokens.test(';');
        if (statement.type === 'return' || statement.type === 'break') break;
      }
      return statements;
    });
  }

  #atEndOfBlock(): boolean {
    const { type } = this.#tokens;
    return type === END || type === 'end' || type === 'else' || type === 'elseif' || type === 'until';
  }

  #statement(): Statement {
    const tokens = this.#tokens;
    const { line } = tokens;
    switch (tokens.type) {
      case 'if':
        return this.#if(line);
      case 'while': {
        tokens.take();
        const condition = this.#expressions.expression();
        tokens.expect('do');
        const body = this.#loopBody();
        tokens.close('end', 'while', line);
        return { type: 'while', condition, body };
      }
      case 'do': {
        tokens.take();
        const body = this.#block();
        tokens.close('end', 'do', line);
        return { type: 'do', body };
      }
      case 'for':
        return this.#for(line);
      case 'repeat':
        return this.#repeat(line);
      case 'function':
        return this.#function(line);
      case 'local':
        tokens.take();
        return tokens.test('function') ? this.#localFunction() : this.#local();
      case 'return':
        return this.#return();
      case 'break':
        tokens.take();
        if (this.#scopes.current.loops === 0) tokens.fail('no loop to break');
        return { type: 'break' };
      default:
        return this.#callOrAssignment();
    }
  }

  #loopBody(): Statement[] {
    this.#scopes.current.loops++;
    const body = this.#block();
    this.#scopes.current.loops--;
    return body;
  }

  #if(line: number): Statement {
    const tokens = this.#tokens;
    const clauses = [];
    let otherwise: Statement[] | undefined;
    do {
      tokens.take();
      const condition = this.#expressions.expression();
      tokens.expect('then');
      clauses.push({ condition, body: this.#block() });
    } while (tokens.type === 'elseif');
    if (tokens.test('else')) otherwise = this.#block();
    tokens.close('end', 'if', line);
    return otherwise === undefined ? { type: 'if', clauses } : { type: 'if', clauses, otherwise };
  }

  /** The condition sees the locals of the body. */
  #repeat(line: number): Statement {
    const scope = this.#scopes.current;
    const { length } = scope.active;
    this.#tokens.take();
    scope.loops++;
    const body = this.#statements();
    scope.loops--;
    this.#tokens.close('until', 'repeat', line);
    const condition = this.#expressions.expression();
    this.#scopes.cut(length);
    return { type: 'repeat', condition, body };
  }

  #for(line: number): Statement {
    const tokens = this.#tokens;
    const scopes = this.#scopes;
    tokens.take();
    const { length } = scopes.current.active;
    const name = tokens.name();
    let statement: Statement;
    if (tokens.type === '=') statement = this.#numericFor(name);
    else if (tokens.type === ',' || tokens.type === 'in') statement = this.#genericFor(name, line);
    else return tokens.fail("'=' or 'in' expected");
    tokens.close('end', 'for', line);
    scopes.cut(length);
    return statement;
  }

  /** Lua keeps three hidden locals for a loop; they count. */
  #hide(names: readonly string[]): void {
    const hidden = names.map((name, place) => this.#scopes.declare(name, place));
    this.#scopes.activate(hidden);
  }

  #numericFor(name: string): Statement {
    const tokens = this.#tokens;
    const expressions = this.#expressions;
    tokens.take();
    const start = expressions.expression();
    tokens.expect(',');
    const limit = expressions.expression();
    const step = tokens.test(',') ? expressions.expression() : undefined;
    this.#hide(['(for index)', '(for limit)', '(for step)']);
    tokens.expect('do');
    const line = tokens.lastLine;
    const variable = this.#scopes.declare(name, 0);
    variable.isCounter = true;
    this.#scopes.activate([variable]);
    return { type: 'numericFor', variable, start, limit, step, body: this.#loopBody(), line };
  }

  #genericFor(name: string, line: number): Statement {
    const tokens = this.#tokens;
    const names = [name];
    while (tokens.test(',')) names.push(tokens.name());
    tokens.expect('in');
    const values = this.#expressions.list();
    this.#hide(['(for generator)', '(for state)', '(for control)']);
    tokens.expect('do');
    const variables = names.map((each, place) => this.#scopes.declare(each, place));
    this.#scopes.activate(variables);
    return { type: 'genericFor', variables, values, body: this.#loopBody(), line };
  }

  #function(line: number): Statement {
    const tokens = this.#tokens;
    tokens.take();
    let target = this.#scopes.resolve(tokens.name(), tokens.lastLine);
    let isMethod = false;
    while (!isMethod && (tokens.type === '.' || tokens.type === ':')) {
      isMethod = tokens.take().type === ':';
      const key: Expression = { type: 'string', value: tokens.name() };
      target = { type: 'index', object: target, key, line: tokens.lastLine };
    }
    const body = this.#expressions.body(isMethod, line);
    return { type: 'assign', targets: [this.#asTarget(target)], values: [{ type: 'function', body }], line };
  }

  #localFunction(): Statement {
    const variable = this.#scopes.declare(this.#tokens.name(), 0);
    this.#scopes.activate([variable]);
    return { type: 'localFunction', variable, body: this.#expressions.body(false, this.#tokens.line) };
  }

  #local(): Statement {
    const tokens = this.#tokens;
    const variables = [];
    do variables.push(this.#scopes.declare(tokens.name(), variables.length));
    while (tokens.test(','));
    const values = tokens.test('=') ? this.#expressions.list() : [];
    this.#scopes.activate(variables);
    return { type: 'local', variables, values };
  }

  #return(): Statement {
    const tokens = this.#tokens;
    tokens.take();
    const isEmpty = this.#atEndOfBlock() || tokens.type === ';';
    const values = isEmpty ? [] : this.#expressions.list();
    return { type: 'return', values, line: tokens.lastLine };
  }

  #callOrAssignment(): Statement {
    const tokens = this.#tokens;
    const found = this.#expressions.primary();
    if (found.type === 'call' || found.type === 'method') return { type: 'call', call: found };
    const targets = [this.#asTarget(found)];
    while (tokens.test(',')) {
      if (targets.length >= TARGETS_MAX) tokens.failPlainly('chunk has too many variables in assignment');
      targets.push(this.#asTarget(this.#expressions.primary()));
    }
    tokens.expect('=');
    const values = this.#expressions.list();
    return { type: 'assign', targets, values, line: tokens.lastLine };
  }

  #asTarget(found: Expression): Target {
    if (found.type === 'variable') found.variable.assigned = true;
    else if (found.type !== 'global' && found.type !== 'index') return this.#tokens.fail('syntax error');
    return found;
  }
}
