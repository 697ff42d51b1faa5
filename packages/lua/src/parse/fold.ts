import { modulo, power } from '../values/arithmetic.js';
import type { Expression } from './syntax.js';

type Binary = Extract<Expression, { type: 'binary' }>;
type Unary = Extract<Expression, { type: 'unary' }>;

const COMPUTE: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': modulo,
  '^': power,
};

/**
 * Lua computes constant expressions when it compiles. That shows: in the sign of a zero, of which a function has but
 * one as a constant, and in the names that errors give to operands. lcode.c, constfolding.
 */
export function foldBinary(expression: Binary): Expression {
  const { operator, left, right } = expression;
  const compute = COMPUTE[operator];
  if (compute === undefined || left.type !== 'number' || right.type !== 'number') return expression;
  if ((operator === '/' || operator === '%') && right.value === 0) return expression;
  const value = compute(left.value, right.value);
  return Number.isNaN(value) ? expression : { type: 'number', value };
}

export function foldUnary(expression: Unary): Expression {
  const { operator, operand } = expression;
  if (operator === '-' && operand.type === 'number') return { type: 'number', value: -operand.value };
  if (operator !== 'not') return expression;
  if (!isConstant(operand)) return expression;
  return { type: isTrue(operand) ? 'false' : 'true' };
}

/** A left side that decides nothing is left out. */
export function foldChoice(expression: Extract<Expression, { type: 'and' | 'or' }>): Expression {
  const { type, left, right } = expression;
  const isPassed = type === 'or' ? left.type === 'nil' || left.type === 'false' : isConstant(left) && isTrue(left);
  if (!isPassed) return expression;
  return isConstant(right) ? right : { type: 'parentheses', inner: right };
}

function isTrue({ type }: Expression): boolean {
  return type !== 'nil' && type !== 'false';
}

export function isConstant({ type }: Expression): boolean {
  return type === 'nil' || type === 'true' || type === 'false' || type === 'number' || type === 'string';
}
