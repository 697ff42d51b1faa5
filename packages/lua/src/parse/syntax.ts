/** A local variable, or a parameter. */
export class Variable {
  readonly name: string;
  /** Unique in its chunk. */
  readonly id: number;
  readonly owner: FunctionScope;
  /** Assigned to after its declaration. */
  assigned = false;
  /** The variable of a numeric `for`: a number, unless it is assigned. */
  isCounter = false;
  /** Used by a function inside its own. */
  captured = false;

  constructor(name: string, id: number, owner: FunctionScope) {
    this.name = name;
    this.id = id;
    this.owner = owner;
  }
}

/** The variables of a function, while and after it is parsed. */
export class FunctionScope {
  readonly parent: FunctionScope | undefined;
  readonly line: number;
  isVararg = false;
  /** `...` is in its body: then Lua 5.1 makes no table `arg`. */
  usesVarargs = false;
  readonly active: Variable[] = [];
  readonly upvalues = new Set<Variable>();
  /** Locals that were ever declared in it: its frame has a place for each. */
  locals = 0;
  loops = 0;

  constructor(parent: FunctionScope | undefined, line: number) {
    this.parent = parent;
    this.line = line;
  }
}

export type BinaryOperator = '+' | '-' | '*' | '/' | '%' | '^' | '..' | '==' | '~=' | '<' | '>' | '<=' | '>=';
export type UnaryOperator = '-' | 'not' | '#';

/** `line` is where Lua would say that an error in the operation is. */
export type Expression =
  | { readonly type: 'nil' | 'true' | 'false' | 'varargs' }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'variable'; readonly variable: Variable; readonly isUpvalue: boolean }
  | { readonly type: 'global'; readonly name: string; readonly line: number }
  | { readonly type: 'index'; readonly object: Expression; readonly key: Expression; readonly line: number }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: Expression[]; readonly line: number }
  | {
      readonly type: 'method';
      readonly object: Expression;
      readonly name: string;
      readonly args: Expression[];
      readonly line: number;
    }
  | {
      readonly type: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly line: number;
    }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression; readonly line: number }
  | { readonly type: 'parentheses'; readonly inner: Expression }
  | { readonly type: 'table'; readonly items: TableItem[]; readonly line: number }
  | { readonly type: 'function'; readonly body: FunctionBody };

/** Without a key: the next of the array. */
export interface TableItem {
  readonly key: Expression | undefined;
  readonly value: Expression;
  readonly line: number;
}

export interface FunctionBody {
  readonly parameters: Variable[];
  /** The local `arg` of a function with `...`. */
  readonly arg: Variable | undefined;
  readonly body: Statement[];
  readonly scope: FunctionScope;
}

export type Target = Extract<Expression, { type: 'variable' | 'global' | 'index' }>;

export type Statement =
  | { readonly type: 'local'; readonly variables: Variable[]; readonly values: Expression[] }
  | { readonly type: 'localFunction'; readonly variable: Variable; readonly body: FunctionBody }
  | { readonly type: 'assign'; readonly targets: Target[]; readonly values: Expression[]; readonly line: number }
  | { readonly type: 'call'; readonly call: Expression }
  | { readonly type: 'do'; readonly body: Statement[] }
  | { readonly type: 'while'; readonly condition: Expression; readonly body: Statement[] }
  | { readonly type: 'repeat'; readonly condition: Expression; readonly body: Statement[] }
  | { readonly type: 'if'; readonly clauses: { condition: Expression; body: Statement[] }[]; otherwise?: Statement[] }
  | {
      readonly type: 'numericFor';
      readonly variable: Variable;
      readonly start: Expression;
      readonly limit: Expression;
      readonly step: Expression | undefined;
      readonly body: Statement[];
      readonly line: number;
    }
  | {
      readonly type: 'genericFor';
      readonly variables: Variable[];
      readonly values: Expression[];
      readonly body: Statement[];
      readonly line: number;
    }
  | { readonly type: 'return'; readonly values: Expression[]; readonly line: number }
  | { readonly type: 'break' };
