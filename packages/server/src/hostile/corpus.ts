import { readdirSync, readFileSync } from 'node:fs';

interface CorpusEntry {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The files of one kind in packages/server/corpus, in the order of names. */
export function readCorpus(kind: 'resp' | 'http' | 'config'): readonly CorpusEntry[] {
  const directory = new URL(`../../corpus/${kind}/`, import.meta.url);
  const entries = readdirSync(directory)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(new URL(name, directory)) }));
  if (entries.length === 0) throw new Error(`packages/server/corpus/${kind} is empty`);
  return entries;
}
