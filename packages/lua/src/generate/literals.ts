/**
 * A JavaScript literal. A string of bytes has nothing beyond U+00FF, so JSON's escapes of quotes, backslashes and
 * control characters leave nothing that could end the literal or the line.
 */
export function literal(value: string | number): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value < 0 || Object.is(value, -0)) return `(-${literal(-value)})`;
  return value === Number.POSITIVE_INFINITY ? '(1/0)' : String(value);
}
