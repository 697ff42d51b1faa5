/**
 * The arguments of a command as a tree, as COMMAND DOCS has them, read from its declared syntax. A syntax is written as
 * in Redis's documentation:
 *
 *   name           an argument                       TOKEN          a word that stands for itself
 *   TOKEN name     an argument behind its word       [ … ]          may be left out
 *   < a | b >      one of these                      [ a | b ]      one of these, or none
 *   a [a ...]      once or more often                a b [a b ...]  the same for several together
 */
export interface CommandArgument {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'double' | 'key' | 'pattern' | 'unix-time' | 'pure-token' | 'oneof' | 'block';
  readonly token?: string;
  readonly isOptional?: true;
  readonly isMultiple?: true;
  /** The token is repeated with it. */
  readonly isTokenRepeated?: true;
  readonly arguments?: readonly CommandArgument[];
}

export function parseSyntax(syntax: string): CommandArgument[] {
  const words = syntax.match(/\.\.\.|[[\]<>|]|[^\s[\]<>|]+/g) ?? [];
  const [parsed] = new SyntaxReader(words).alternatives(undefined);
  return parsed;
}

class SyntaxReader {
  private readonly words: readonly string[];
  private at = 0;

  constructor(words: readonly string[]) {
    this.words = words;
  }

  /** Everything up to the closing bracket, which is passed over: the sequences between its bars. */
  alternatives(closing: string | undefined): CommandArgument[][] {
    const found: CommandArgument[][] = [];
    do found.push(this.sequence());
    while (this.take('|'));
    if (closing !== undefined && !this.take(closing))
      throw new Error(`${closing} is missing in ${this.words.join(' ')}`);
    if (closing === undefined && this.at < this.words.length) throw new Error(`too much in ${this.words.join(' ')}`);
    return found;
  }

  private sequence(): CommandArgument[] {
    const found: CommandArgument[] = [];
    const from = this.at;
    while (this.at < this.words.length && !/^[|\]>]$/.test(this.words[this.at])) {
      const repeated = this.repetition(from);
      if (repeated !== undefined) repeat(found, repeated);
      else found.push(this.element());
    }
    return found;
  }

  /** Passes over `[a b ...]` behind `a b`, and returns the words in it; undefined where none is here. */
  private repetition(from: number): readonly string[] | undefined {
    if (this.words[this.at] !== '[') return undefined;
    const end = this.words.indexOf(']', this.at);
    const inside = this.words.slice(this.at + 1, end);
    if (inside.pop() !== '...') return undefined;
    const before = this.words.slice(Math.max(from, this.at - inside.length), this.at);
    if (before.join(' ') !== inside.join(' ')) return undefined;
    this.at = end + 1;
    return inside;
  }

  private element(): CommandArgument {
    const word = this.words[this.at++];
    if (word === '[') return { ...oneOf(this.alternatives(']')), isOptional: true };
    if (word === '<') return oneOf(this.alternatives('>'));
    if (!isToken(word)) return { name: word, type: typeOf(word) };
    return withToken(word, this.behindToken());
  }

  /** What belongs to the token that was just read: at the top, one argument; inside brackets, all that follow. */
  private behindToken(): CommandArgument[] {
    const isInside = /^[[<|]$/.test(this.words[this.at - 2] ?? '');
    const found: CommandArgument[] = [];
    while (this.at < this.words.length && (isInside || found.length === 0)) {
      const word = this.words[this.at];
      if (/^[|\]>[]$/.test(word) || (isToken(word) && word !== '<')) break;
      found.push(this.element());
    }
    return found;
  }

  private take(word: string): boolean {
    if (this.words[this.at] !== word) return false;
    this.at++;
    return true;
  }
}

function isToken(word: string): boolean {
  return /^[A-Z][A-Z-]*$/.test(word);
}

function withToken(token: string, behind: readonly CommandArgument[]): CommandArgument {
  if (behind.length === 0) return { name: token.toLowerCase(), type: 'pure-token', token };
  return { ...together(behind), token };
}

/** Several arguments as one. */
function together(parts: readonly CommandArgument[]): CommandArgument {
  return parts.length === 1 ? parts[0] : { name: nameOf(parts), type: 'block', arguments: parts };
}

function oneOf(alternatives: readonly (readonly CommandArgument[])[]): CommandArgument {
  const parts = alternatives.map(together);
  return parts.length === 1 ? parts[0] : { name: nameOf(parts), type: 'oneof', arguments: parts };
}

function nameOf(parts: readonly CommandArgument[]): string {
  return parts.map(({ name }) => name).join('_');
}

/** The last arguments, of these words, can be given several times. */
function repeat(parts: CommandArgument[], words: readonly string[]): void {
  const count = words.filter((word) => !isToken(word)).length;
  const part = together(parts.splice(parts.length - count));
  parts.push({ ...part, isMultiple: true, ...(words.some(isToken) && { isTokenRepeated: true }) });
}

const TYPES: readonly (readonly [CommandArgument['type'], RegExp])[] = [
  ['key', /^(key|newkey|source|destination|subject)$/],
  ['pattern', /^pattern$/],
  ['unix-time', /^unix-time-/],
  [
    'integer',
    new RegExp(
      '^(seconds|milliseconds|window-ms|period-ms|max-age-ms|start-ms|increment|decrement|amount|limit|cost|percent|' +
        'burst|count|cursor|timeout|db|index\\d?|destination-db|client-id|numreplicas|numlocal|numkeys|protover|' +
        '.*bound|bits)$',
    ),
  ],
];

/** The type follows from the name, by which arguments of one kind are called alike. */
function typeOf(name: string): CommandArgument['type'] {
  return TYPES.find(([, pattern]) => pattern.test(name))?.[0] ?? 'string';
}
