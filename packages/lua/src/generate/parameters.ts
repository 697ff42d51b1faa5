import type { Expression, Variable } from '../parse/syntax.js';
import { literal } from './literals.js';

export type ParameterName = 'KEYS' | 'ARGV';

/** What they are called in the code of a chunk. */
const CODE_NAMES = { KEYS: 'K', ARGV: 'A' } as const;

/**
 * KEYS and ARGV as parameters of a chunk: `Words` of the host where the script only reads single words of them, and so
 * cannot change them; else tables. Which it is shows while the code is made.
 */
export class Parameters {
  /** Those that are tables. */
  readonly tables: ReadonlySet<ParameterName>;
  /** Those that this code uses as tables. */
  readonly used = new Set<ParameterName>();
  /** Locals that are names for words: `local key = KEYS[1]`, and no other assignment. */
  readonly #aliases = new Map<Variable, Extract<Expression, { type: 'index' }>>();

  constructor(tables: ReadonlySet<ParameterName>) {
    this.tables = tables;
  }

  /** The name in the code of a global that is used as a whole. */
  asTable(name: ParameterName): string {
    this.used.add(name);
    return CODE_NAMES[name];
  }

  /** The name in the code where the global has words; undefined where it is a table, or another expression. */
  withWords(expression: Expression): string | undefined {
    if (expression.type !== 'global' || !isParameter(expression.name)) return undefined;
    return this.tables.has(expression.name) ? undefined : CODE_NAMES[expression.name];
  }

  /** Whether the local needs no variable: from here on it is read as the word. */
  alias(variable: Variable, value: Expression): boolean {
    if (variable.assigned || value.type !== 'index' || value.key.type !== 'number') return false;
    if (this.withWords(value.object) === undefined) return false;
    this.#aliases.set(variable, value);
    return true;
  }

  /** The code of the word that a local is a name for, read by `get` or `word`. */
  aliased(variable: Variable, method: 'get' | 'word'): string | undefined {
    const word = this.#aliases.get(variable);
    if (word?.key.type !== 'number') return undefined;
    return `${this.withWords(word.object)}.${method}(${literal(word.key.value)})`;
  }
}

export function isParameter(name: string): name is ParameterName {
  return name === 'KEYS' || name === 'ARGV';
}
