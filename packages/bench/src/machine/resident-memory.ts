import { readFileSync } from 'node:fs';

/** The memory of a process that is really there (VmRSS); undefined where there is no /proc. */
export function residentBytes(pid: number): number | undefined {
  try {
    return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return undefined;
  }
}

export function parseResidentBytes(status: string): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
