import { type Expression, FunctionScope, Variable } from './syntax.js';

/** As luaconf.h has them. */
const LOCALS_MAX = 200;
const UPVALUES_MAX = 60;

/** Which variable a name is, function by function and block by block. */
export class Scopes {
  current: FunctionScope;
  #variables = 0;
  readonly #fail: (text: string) => never;

  constructor(fail: (text: string) => never) {
    this.#fail = fail;
    this.current = new FunctionScope(undefined, 0);
    this.current.isVararg = true;
  }

  enterFunction(line: number): FunctionScope {
    this.current = new FunctionScope(this.current, line);
    return this.current;
  }

  leaveFunction(): void {
    this.current = this.current.parent!;
  }

  /** Variables are declared first and visible later: `local x = x`. */
  declare(name: string, pending: number): Variable {
    this.#limit(this.current, this.current.active.length + pending + 1, LOCALS_MAX, 'local variables');
    this.current.locals++;
    return new Variable(name, ++this.#variables, this.current);
  }

  activate(variables: readonly Variable[]): void {
    this.current.active.push(...variables);
  }

  /** Ends the visibility of what was declared since `active` had this length. */
  cut(length: number): void {
    this.current.active.length = length;
  }

  resolve(name: string, line: number): Expression {
    for (let scope: FunctionScope | undefined = this.current; scope !== undefined; scope = scope.parent) {
      const variable = scope.active.findLast((candidate) => candidate.name === name);
      if (variable === undefined) continue;
      const isUpvalue = scope !== this.current;
      if (isUpvalue) variable.captured = true;
      for (let user = this.current; user !== scope; user = user.parent!) this.#addUpvalue(user, variable);
      return { type: 'variable', variable, isUpvalue };
    }
    return { type: 'global', name, line };
  }

  #addUpvalue(scope: FunctionScope, variable: Variable): void {
    scope.upvalues.add(variable);
    this.#limit(scope, scope.upvalues.size, UPVALUES_MAX, 'upvalues');
  }

  #limit(scope: FunctionScope, count: number, limit: number, what: string): void {
    if (count <= limit) return;
    const where = scope.line === 0 ? 'main function' : `function at line ${scope.line}`;
    this.#fail(`${where} has more than ${limit} ${what}`);
  }
}
