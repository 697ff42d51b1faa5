import { Argument, type Command } from 'commander';
import { EXIT_OK } from '../terminal/exit-codes.js';
import type { Exit } from '../terminal/run-command.js';

export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const EXAMPLES = `
Examples:
  $ source <(quotadb completion bash)
  $ quotadb completion zsh > "\${fpath[1]}/_quotadb"
  $ quotadb completion fish > ~/.config/fish/completions/quotadb.fish`;

/** `quotadb completion`. */
export function completionCommand(program: Command, exit: Exit): void {
  program
    .command('completion')
    .description('a script that completes commands and flags in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
      exit(EXIT_OK);
    });
}

interface Completable {
  readonly name: string;
  readonly description: string;
  /** The words that may follow: subcommands, or the choices of an argument. */
  readonly words: readonly { readonly word: string; readonly description: string }[];
  /** Its own, and those of its subcommands. */
  readonly flags: readonly { readonly long: string; readonly description: string }[];
}

/** A script that completes commands and flags, made from the commands themselves. */
export function completionScript(program: Command, shell: Shell): string {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    description: firstSentence(command.description()),
    words: [
      ...command.commands.map((child) => ({ word: child.name(), description: firstSentence(child.description()) })),
      ...command.registeredArguments.flatMap(({ argChoices, description }) =>
        (argChoices ?? []).map((word) => ({ word, description: firstSentence(description) })),
      ),
    ],
    flags: flagsOf(command),
  }));
  const writers = { bash: bashScript, zsh: zshScript, fish: fishScript };
  return writers[shell](commands);
}

function flagsOf(command: Command): Completable['flags'] {
  const all = [command, ...command.commands].flatMap(({ options }) => options).filter(({ hidden }) => !hidden);
  const byName = new Map(
    all.flatMap(({ long, description }) =>
      typeof long === 'string' ? [[long, firstSentence(description)] as const] : [],
    ),
  );
  return [...byName].map(([long, description]) => ({ long, description }));
}

function bashScript(commands: readonly Completable[]): string {
  const cases = commands.map(({ name, words, flags }) => {
    const next = [...words.map(({ word }) => word), ...flags.map(({ long }) => long), '--help'];
    return `    ${name}) words="${next.join(' ')}" ;;`;
  });
  return `# quotadb completion bash > /etc/bash_completion.d/quotadb
_quotadb() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map(({ name }) => name).join(' ')} --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _quotadb quotadb
`;
}

function zshScript(commands: readonly Completable[]): string {
  const described = commands.map(({ name, description }) => `    '${name}:${quote(description)}'`);
  const cases = commands.map(({ name, words, flags }) => {
    const next = words.length === 0 ? [] : [`      '1: :(${words.map(({ word }) => word).join(' ')})'`];
    const specifications = flags.map(({ long, description }) => `      '${long}[${quote(description)}]:value:_files'`);
    return `    ${name}) _arguments \\\n${[...next, ...specifications, "      '--help[help]'"].join(' \\\n')} ;;`;
  });
  return `#compdef quotadb
# quotadb completion zsh > "\${fpath[1]}/_quotadb"
_quotadb() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case "$words[1]" in
${cases.join('\n')}
  esac
}
compdef _quotadb quotadb
`;
}

function fishScript(commands: readonly Completable[]): string {
  const lines = commands.flatMap(({ name, description, words, flags }) => [
    `complete -c quotadb -n __fish_use_subcommand -f -a ${name} -d '${quote(description)}'`,
    ...words.map(
      ({ word, description: help }) =>
        `complete -c quotadb -n '__fish_seen_subcommand_from ${name}' -f -a ${word} -d '${quote(help)}'`,
    ),
    ...flags.map(
      ({ long, description: help }) =>
        `complete -c quotadb -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)} -d '${quote(help)}'`,
    ),
  ]);
  return `# quotadb completion fish > ~/.config/fish/completions/quotadb.fish\n${lines.join('\n')}\n`;
}

function firstSentence(text: string): string {
  return text.split(/[;:(]/)[0].trim();
}

/** Without the characters that end a quoted text, and those that a shell's completion gives a meaning. */
function quote(text: string): string {
  return text.replaceAll("'", '’').replaceAll(/[[\]:\\]/g, ' ');
}
