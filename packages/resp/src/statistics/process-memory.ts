import { getHeapStatistics } from 'node:v8';

export interface ProcessMemory {
  readonly residentBytes: number;
  /** Of this thread's own heap. */
  readonly heapUsedBytes: number;
}

let lastResidentBytes = 0;

/**
 * Node reads the resident size from a file, and throws when the process has no descriptor left for it. INFO must work
 * just then, so it shows the last known size.
 */
export function processMemory(): ProcessMemory {
  const heapUsedBytes = getHeapStatistics().used_heap_size;
  try {
    lastResidentBytes = process.memoryUsage.rss();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
  return { residentBytes: lastResidentBytes, heapUsedBytes };
}
