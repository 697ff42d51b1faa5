/** Where in a document: names and positions from the top. */
export type Path = readonly (string | number)[];

/** Something wrong with a document: where, what, and what to write instead. */
export interface Mistake {
  readonly path: Path;
  readonly message: string;
  /** In the text that it was read from, from 1 on. */
  readonly line?: number | undefined;
}

/** More are not listed: the first ones are enough to begin with. */
const MAXIMUM_LISTED = 100;
const MAXIMUM_VALUE_CHARACTERS = 60;

/** A document that was refused: nothing of it holds. */
export class DocumentError extends Error {
  override readonly name: string = 'DocumentError';
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(printMistakes(mistakes).join('; '));
    this.mistakes = mistakes;
  }
}

/** One line for each, in the order of the document. */
export function printMistakes(mistakes: readonly Mistake[]): string[] {
  const sorted = [...mistakes].sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  const lines = sorted.slice(0, MAXIMUM_LISTED).map(printMistake);
  if (sorted.length > MAXIMUM_LISTED) lines.push(`and ${sorted.length - MAXIMUM_LISTED} more`);
  return lines;
}

function printMistake({ path, message, line }: Mistake): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  const where = [...(line === undefined ? [] : [`line ${line}`]), ...(place === '' ? [] : [place.replace(/^\./, '')])];
  return where.length === 0 ? message : `${where.join(', ')}: ${message}`;
}

/** A value for a message, short. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : (JSON.stringify(value) ?? 'nothing');
  return text.length > MAXIMUM_VALUE_CHARACTERS ? `${text.slice(0, MAXIMUM_VALUE_CHARACTERS)}…` : text;
}
