/**
 * Whether text that is written to this stream may have colours: at a terminal that knows them, unless NO_COLOR
 * (https://no-color.org) forbids them. FORCE_COLOR asks for them where they would not be.
 */
export function usesColors(
  stream: { readonly isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM } = environment;
  if (NO_COLOR !== '') return false;
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0';
  return stream.isTTY === true && TERM !== 'dumb';
}
