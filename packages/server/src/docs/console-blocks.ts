/** A command of a guide, and what the guide says that it prints. */
export interface ConsoleExample {
  readonly command: string;
  readonly printed: string;
}

/** The commands of the console blocks of a page. A command goes on for as long as a shell would wait for its `END`. */
export function consoleExamples(page: string): readonly ConsoleExample[] {
  const blocks = page.matchAll(/```console\n(.*?)```/gs);
  return [...blocks].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const heredoc = /^.*<<'END'\n(?:.|\n)*?\nEND\n/.exec(example)?.[0];
        const command = heredoc ?? `${example.split('\n', 1)[0]}\n`;
        return { command: command.trimEnd(), printed: example.slice(command.length).trimEnd() };
      }),
  );
}
