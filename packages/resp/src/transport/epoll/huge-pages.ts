import type { Libc } from './libc.js';

const MADV_HUGEPAGE = 14;
const PAGE_BYTES = 4096;

/**
 * Asks for pages of 2 MiB for the store. Look-ups of keys are spread over all of it, and with small pages nearly every
 * one misses the processor's TLB as well as its cache. Where the system ignores the advice, the store works with small
 * pages.
 */
export function adviseHugePages(libc: Libc, buffer: SharedArrayBuffer): void {
  const address = libc.addressOf(new Uint8Array(buffer, 0, 1));
  const start = Math.ceil(address / PAGE_BYTES) * PAGE_BYTES;
  libc.madvise(start, buffer.byteLength - (start - address), MADV_HUGEPAGE);
}
