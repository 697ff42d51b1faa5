/** A command of a block that is no console: a server that goes on running, or a command with an output to look at. */
export interface CommandLine {
  readonly text: string;
  /** The page shows that the server refuses it, in a state that one server alone is not in. */
  readonly isRefused: boolean;
}

/**
 * The `quotadb` and `redis-cli` commands in the plain and shell blocks of a page. Where a block has prompts, lines
 * without one are output. Comments, explanations behind four spaces, and parts in brackets, which may be left out, are
 * not part of it.
 */
export function commandLines(page: string): readonly CommandLine[] {
  const blocks = [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)]
    .filter(([, kind = '']) => ['', 'sh', 'bash'].includes(kind))
    .map(([, , block = '']) => block.replaceAll(/ *\\\n */g, ' '));
  return blocks.flatMap((block) => {
    const lines = block.split('\n');
    const hasPrompts = lines.some((line) => line.startsWith('$ '));
    return lines.flatMap((line, at) => {
      const text = line
        .replace(/^\$ /, '')
        .replace(/\s+#.*|\s{4,}\S.*/, '')
        .replaceAll(/ \[[^\]]*\]/g, '')
        .trim();
      const isCommand = /^(?:[A-Z_]+=\S+ )*(?:npx )?(?:quotadb|redis-cli) \S/.test(text);
      if (!isCommand || (hasPrompts && !line.startsWith('$ '))) return [];
      return { text, isRefused: lines[at + 1]?.startsWith('(error)') ?? false };
    });
  });
}
