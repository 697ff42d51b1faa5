import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '@quotadb/quota';
import { writeWholeFile } from '@quotadb/storage';

const FILE = 'quotas.json';
/** Of all quotas that ever were; the oldest are dropped first. */
const MAXIMUM_NAMES = 10_000;

/** The names of quotas by their numbers, also of those that were dropped before their last window was exported. */
export class QuotaNames {
  private readonly directory: string;
  private readonly names: Map<number, string>;

  constructor(directory: string) {
    this.directory = directory;
    this.names = new Map(load(directory));
  }

  of(number: number): string {
    return this.names.get(number) ?? `#${number}`;
  }

  note(policies: readonly Policy[]): void {
    const unknown = policies.filter(({ number }) => !this.names.has(number));
    if (unknown.length === 0) return;
    for (const { number, name } of unknown) this.names.set(number, name);
    for (const number of this.names.keys()) {
      if (this.names.size <= MAXIMUM_NAMES) break;
      this.names.delete(number);
    }
    writeWholeFile(this.directory, FILE, JSON.stringify([...this.names]));
  }
}

function load(directory: string): [number, string][] {
  try {
    return JSON.parse(readFileSync(join(directory, FILE), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
