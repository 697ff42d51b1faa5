import { ByteInput } from '@quotadb/engine';
import { Table, type Value, type Words } from '@quotadb/lua';
import type { Request } from '@quotadb/wire';
import { latin1 } from './reply-reader.js';

const KEPT_WORDS = 8;
const NO_INPUT = ByteInput.copyOf(new Uint8Array(0));

/** A word of KEYS or ARGV, as the request of EVAL has it. */
export class RequestWord {
  /** Not yet in the buffer of the commands that the script calls. */
  static readonly NOWHERE = -1;

  input = NO_INPUT;
  start = 0;
  length = 0;
  /** As a string, once the script has read it. */
  text: string | undefined = undefined;
  /** Where it is in the buffer of the commands, once one of them had it. */
  at = RequestWord.NOWHERE;

  point(input: ByteInput, start: number, length: number): void {
    this.input = input;
    this.start = start;
    this.length = length;
    this.text = undefined;
    this.at = RequestWord.NOWHERE;
  }
}

/**
 * KEYS or ARGV: the words of a request. A string is made of those that the script reads, and a word that goes into
 * commands is copied once.
 */
export class RequestWords implements Words {
  length = 0;
  private request!: Request;
  private first = 0;
  private hiddenBytes = 0;
  /** The first words, used again by the next script; and the others. */
  private readonly kept = Array.from({ length: KEPT_WORDS }, () => new RequestWord());
  private others: RequestWord[] = [];

  /** The arguments from `first` to before `end`, without the bytes in front of each that clients do not see. */
  begin(request: Request, first: number, end: number, hiddenBytes: number): void {
    const { kept } = this;
    this.request = request;
    this.first = first;
    this.length = end - first;
    this.hiddenBytes = hiddenBytes;
    for (let index = 0; index < this.length && index < KEPT_WORDS; index++) this.point(kept[index], index);
    if (this.others.length > 0) this.others = [];
  }

  get(place: Value): Value {
    const word = this.word(place);
    if (word === undefined) return undefined;
    word.text ??= textOf(word);
    return word.text;
  }

  word(place: Value): RequestWord | undefined {
    if (typeof place !== 'number' || !(place >= 1 && place <= this.length) || !Number.isInteger(place))
      return undefined;
    return place <= KEPT_WORDS ? this.kept[place - 1] : this.other(place - 1);
  }

  /** The table is the script's own, to be changed. */
  table(): Table {
    const strings: Value[] = [];
    const word = new RequestWord();
    for (let index = 0; index < this.length; index++) {
      this.point(word, index);
      strings.push(textOf(word));
    }
    return new Table(strings);
  }

  private other(index: number): RequestWord {
    let word = this.others[index];
    if (word === undefined) {
      word = new RequestWord();
      this.point(word, index);
      this.others[index] = word;
    }
    return word;
  }

  private point(word: RequestWord, index: number): void {
    const { input, argumentStart, argumentLength } = this.request;
    const argument = this.first + index;
    const { hiddenBytes } = this;
    word.point(input, argumentStart[argument] + hiddenBytes, argumentLength[argument] - hiddenBytes);
  }
}

function textOf({ input, start, length }: RequestWord): string {
  return latin1(input.bytes, start, length);
}
