/** With two decimals; 0.00 where the divisor is zero. */
export function ratio(part: number, whole: number): string {
  return whole > 0 ? (part / whole).toFixed(2) : '0.00';
}
