/** Above this share of the limit it is time to do something. */
const NEARLY_FULL = 0.9;

export function memoryReport(figures: { usedBytes: number; maxMemoryBytes: number }): string {
  const share = figures.usedBytes / figures.maxMemoryBytes;
  const percent = `${(share * 100).toFixed(1)} % of maxmemory is used`;
  if (share < NEARLY_FULL) return `${percent}: all is well.\n`;
  return `${percent}: new keys are refused when it is full. Raise --max-memory, or give keys an expiry.\n`;
}
