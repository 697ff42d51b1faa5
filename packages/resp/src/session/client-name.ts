const FIRST_PRINTABLE = 0x21;
const LAST_PRINTABLE = 0x7e;

/** Names appear in lines of CLIENT LIST, so they may hold nothing that could pass for more than one field. */
export function isPrintable(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte >= FIRST_PRINTABLE && byte <= LAST_PRINTABLE);
}
