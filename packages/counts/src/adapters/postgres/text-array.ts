/**
 * Arrays as PostgreSQL writes them. The driver can do this too, but element by element and with more checks than a
 * statement that is built thousands of times a second should pay for.
 */
const NEEDS_NO_QUOTES = /^[A-Za-z0-9_:.-]+$/;

export function textArray(texts: readonly string[]): string {
  return `{${texts.map(quote).join(',')}}`;
}

export function plainArray(values: readonly (bigint | boolean)[]): string {
  return `{${values.join(',')}}`;
}

export function nullableArray(values: readonly (bigint | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

function quote(text: string): string {
  // The word null, in any case, means the absence of a value unless it is quoted.
  if (NEEDS_NO_QUOTES.test(text) && text.length !== 4) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
