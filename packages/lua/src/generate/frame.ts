import type { FunctionScope } from '../parse/syntax.js';
import { CALL_SLOTS } from '../values/running.js';
import type { Site } from '../values/sites.js';

/** The sites of a chunk while its code is made: each gets a mark that is turned into the number of its line later. */
export class SiteMarks {
  readonly #sites: Site[] = [];

  /** A new line that begins with the mark. What fails on it fails at this site. */
  mark(site: Site): string {
    this.#sites.push(site);
    return `\n/*${this.#sites.length - 1}*/`;
  }

  /** By line of the code. No literal has a line break in it, so every mark at the start of a line is one of ours. */
  byLine(code: string): (Site | undefined)[] {
    return code.split('\n').map((line) => {
      const mark = /^\/\*(\d+)\*\//.exec(line);
      return mark === null ? undefined : this.#sites[Number(mark[1])];
    });
  }
}

/** The temporary variables of one function, and what its calls take of the stack. */
export class Frame {
  readonly scope: FunctionScope;
  #temporaries = 0;
  #most = 0;
  #pending = 0;
  #mostPending = 0;
  #zero: number | undefined;

  constructor(scope: FunctionScope) {
    this.scope = scope;
  }

  /**
   * Lua keeps one constant for 0 and -0 in a function, with the sign of the first that it meets.
   */
  number(value: number): number {
    if (value !== 0) return value;
    this.#zero ??= value;
    return this.#zero;
  }

  temporary(): string {
    this.#temporaries++;
    this.#most = Math.max(this.#most, this.#temporaries);
    return `T${this.#temporaries}`;
  }

  /** At the start of a statement nothing is kept in temporaries. */
  release(): void {
    this.#temporaries = 0;
  }

  /** While the arguments of a call are computed, those before are kept. */
  holding<T>(slots: number, generate: () => T): T {
    this.#pending += slots;
    this.#mostPending = Math.max(this.#mostPending, this.#pending);
    const result = generate();
    this.#pending -= slots;
    return result;
  }

  get declaration(): string {
    if (this.#most === 0) return '';
    return `let ${Array.from({ length: this.#most }, (_, place) => `T${place + 1}`).join(',')};`;
  }

  /** Slots of the stack for a call, known when the whole body is generated. */
  get slots(): number {
    return CALL_SLOTS + this.scope.locals + this.#most + this.#mostPending;
  }
}
