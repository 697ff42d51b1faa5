/** What C sees of a string: messages that Lua formats in C end at the first byte 0 of each part. */
export function beforeZero(text: string): string {
  const zero = text.indexOf('\0');
  return zero < 0 ? text : text.slice(0, zero);
}
