import { Lexer, NAME, type Token } from './lexer.js';

/** Blocks and expressions inside one another. */
const LEVELS_MAX = 200;

/** The tokens of a source with one of lookahead, and the errors that lparser.c makes of them. */
export class Tokens {
  readonly #lexer: Lexer;
  current: Token;
  #ahead: Token | undefined;
  /** Of the last token that was taken. */
  lastLine = 1;
  #levels = 0;

  constructor(source: string, chunkName: string) {
    this.#lexer = new Lexer(source, chunkName);
    this.current = this.#lexer.next();
  }

  /** Of the current token. */
  get line(): number {
    return this.#lexer.line;
  }

  get type(): string {
    return this.current.type;
  }

  is(type: string): boolean {
    return this.current.type === type;
  }

  take(): Token {
    const token = this.current;
    this.lastLine = this.#lexer.line;
    this.current = this.#ahead ?? this.#lexer.next();
    this.#ahead = undefined;
    return token;
  }

  /** The type of the token behind the current one. */
  peek(): string {
    this.#ahead ??= this.#lexer.next();
    return this.#ahead.type;
  }

  test(type: string): boolean {
    if (this.current.type !== type) return false;
    this.take();
    return true;
  }

  expect(type: string): Token {
    if (this.current.type !== type) this.fail(`'${type}' expected`);
    return this.take();
  }

  /** The end of what `opening` began. */
  close(type: string, opening: string, line: number): void {
    if (this.current.type !== type && line !== this.line) {
      this.fail(`'${type}' expected (to close '${opening}' at line ${line})`);
    }
    this.expect(type);
  }

  name(): string {
    return String(this.expect(NAME).value);
  }

  fail(text: string): never {
    return this.#lexer.fail(text, this.#lexer.textOf(this.current));
  }

  failPlainly(text: string): never {
    return this.#lexer.fail(text);
  }

  nested<T>(parse: () => T): T {
    if (++this.#levels > LEVELS_MAX) this.failPlainly('chunk has too many syntax levels');
    const result = parse();
    this.#levels--;
    return result;
  }
}
