/** One JSON document a line, for `--json`. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A counter as JSON: a number, or past 2^53 a text, so that readers of JSON do not round it. */
export function exactJson(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
