import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** On disk when it returns. Atomic, also when the power fails in between. */
export function writeWholeFile(directory: string, name: string, text: string): void {
  const path = join(directory, name);
  const part = `${path}.part`;
  const file = openSync(part, 'w', 0o640);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
  syncFile(directory);
}

/** Also a directory: its names are on disk then. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
