/** A position in a string that counts from its end if it is negative; 0 is before the beginning. */
export function fromEnd(position: number, length: number): number {
  const absolute = position < 0 ? position + length + 1 : position;
  return absolute < 0 ? 0 : absolute;
}
