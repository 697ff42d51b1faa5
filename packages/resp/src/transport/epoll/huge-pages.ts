import type { Libc } from './libc.js';

const MADV_HUGEPAGE = 14;
const PAGE_BYTES = 4096;

/**
 * Asks for pages of 2 MiB under the store. Keys are looked up all over it, and with small pages nearly every look-up
 * misses the processor's table of pages as well as its cache. Where the system does not do it, nothing is lost.
 */
export function adviseHugePages(libc: Libc, buffer: SharedArrayBuffer): void {
  const bytes = new Uint8Array(buffer);
  const address = libc.addressOf(bytes);
  const start = Math.ceil(address / PAGE_BYTES) * PAGE_BYTES;
  libc.madvise(start, bytes.length - (start - address), MADV_HUGEPAGE);
}
