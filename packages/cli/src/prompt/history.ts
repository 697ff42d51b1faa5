import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Lines kept; the next start removes older ones from the file. */
const MAXIMUM_LINES = 1000;
/** Lines that hold a password are not written to the file. */
const SECRET = /^\s*(?:auth\b|hello\b.*\bauth\b|config\s+set\b.*\brequirepass\b)/i;

/** Lines typed at the prompt, in a file that only its owner can read. The prompt works without it too. */
export class History {
  private readonly path: string;

  constructor(path: string = process.env.QUOTADB_HISTORY ?? join(homedir(), '.quotadb_history')) {
    this.path = path;
  }

  /** Newest first, as readline wants it. */
  load(): string[] {
    try {
      if (!existsSync(this.path)) return [];
      const lines = readFileSync(this.path, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      const kept = lines.slice(-MAXIMUM_LINES);
      if (kept.length < lines.length) writeFileSync(this.path, `${kept.join('\n')}\n`, { mode: 0o600 });
      return kept.reverse();
    } catch {
      return [];
    }
  }

  add(line: string): void {
    if (line.trim() === '' || History.isSecret(line)) return;
    try {
      const isNew = !existsSync(this.path);
      appendFileSync(this.path, `${line}\n`, { mode: 0o600 });
      if (isNew) chmodSync(this.path, 0o600);
    } catch {
      // The prompt goes on without its history.
    }
  }

  static isSecret(line: string): boolean {
    return SECRET.test(line);
  }
}
