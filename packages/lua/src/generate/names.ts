import type { Expression } from '../parse/syntax.js';
import { beforeZero } from '../values/c-string.js';

/** How Lua's messages name an operand. It finds names in its byte code; where it finds none, there is none here. */
export function operandName(expression: Expression): string | undefined {
  switch (expression.type) {
    case 'variable':
      return `${expression.isUpvalue ? 'upvalue' : 'local'} '${expression.variable.name}'`;
    case 'global':
      return `global '${expression.name}'`;
    case 'index':
      return `field '${expression.key.type === 'string' ? beforeZero(expression.key.value) : '?'}'`;
    case 'parentheses':
      return operandName(expression.inner);
    case 'and':
    case 'or':
      return nameOfChoice(expression);
    default:
      return undefined;
  }
}

/**
 * Lua looks for the instruction that filled the register, and follows jumps on the way: it passes by the left side of a
 * choice that is the opposite choice, which can jump to the right side.
 */
function nameOfChoice({ type, left, right }: Extract<Expression, { type: 'and' | 'or' }>): string | undefined {
  const inner = left.type === 'parentheses' ? left.inner : left;
  return inner.type === (type === 'or' ? 'and' : 'or') ? operandName(right) : undefined;
}

/** The bare name of the callee, for messages about its arguments. */
export function calledName(callee: Expression): string | undefined {
  const name = operandName(callee);
  return name?.slice(name.indexOf("'") + 1, -1);
}
