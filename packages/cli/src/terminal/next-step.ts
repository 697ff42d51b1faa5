const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** A command line of this program that works where it is printed: in a shell, and through npx where that was used. */
export function commandLine(...words: readonly string[]): string {
  const program = process.env.npm_lifecycle_event === 'npx' ? 'npx quotadb' : 'quotadb';
  return [program, ...words.map(quoteWord)].join(' ');
}

function quoteWord(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
