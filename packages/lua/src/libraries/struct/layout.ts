import { beforeZero } from '../../values/c-string.js';
import { raise, raiseArgument } from '../../values/raise.js';

import { INT_MAX } from '../integers.js';
import { charge } from '../memory.js';
import { isDigit } from '../string/character-classes.js';

/**
 * The format of `struct`, read option by option.
 *
 *   > < !n        big endian, little endian, alignment (a power of 2; 8 without a number)
 *   b B h H l L T integers of 1, 2, 8 and 8 bytes; small letters are signed; T is size_t
 *   in In         an integer of n bytes, 4 without a number
 *   f d           float and double
 *   cn s x        n bytes of a string (c0: all of it; when unpacking, as many as the number before says); a string up
 *                 to a zero; a byte of padding
 *
 * It ends at its first zero byte.
 */

const MAX_INTEGER_SIZE = 32;
const DEFAULT_ALIGNMENT = 8;
const INT_SIZE = 4;

export class Layout {
  readonly #format: string;
  #next = 0;
  #alignment = 1;
  littleEndian = true;
  /** The letter that next() read. */
  option = '';
  /** How many bytes it takes, as far as the format says. */
  size = 0;

  constructor(format: string) {
    this.#format = beforeZero(format);
  }

  /** Reads the next option; false at the end. */
  next(): boolean {
    if (this.#next >= this.#format.length) return false;
    charge(MAX_INTEGER_SIZE);
    this.option = this.#format.charAt(this.#next++);
    this.size = this.#sizeOf(this.option);
    return true;
  }

  #sizeOf(option: string): number {
    switch (option) {
      case 'b':
      case 'B':
      case 'x':
        return 1;
      case 'h':
      case 'H':
        return 2;
      case 'f':
        return 4;
      case 'l':
      case 'L':
      case 'T':
      case 'd':
        return 8;
      case 'c':
        return this.#number(1);
      case 'i':
      case 'I': {
        const size = this.#number(INT_SIZE);
        if (size > MAX_INTEGER_SIZE) {
          raise(`integral size ${size} is larger than limit of ${MAX_INTEGER_SIZE}`);
        }
        return size;
      }
      default:
        return 0;
    }
  }

  #number(otherwise: number): number {
    if (!isDigit(this.#format.charCodeAt(this.#next))) return otherwise;
    let number = 0;
    while (isDigit(this.#format.charCodeAt(this.#next))) {
      number = number * 10 + this.#format.charCodeAt(this.#next++) - 0x30;
      if (number > INT_MAX) raise('integral size overflow');
    }
    return number;
  }

  /** How many bytes of padding the option needs at a position. */
  paddingAt(position: number): number {
    if (this.size === 0 || this.option === 'c') return 0;
    const size = Math.min(this.size, this.#alignment);
    return (size - (position & (size - 1))) & (size - 1);
  }

  /** Does what an option says that stands for no value. */
  control(): void {
    switch (this.option) {
      case ' ':
        return;
      case '>':
        this.littleEndian = false;
        return;
      case '<':
        this.littleEndian = true;
        return;
      case '!': {
        const alignment = this.#number(DEFAULT_ALIGNMENT);
        if (alignment === 0 || (alignment & (alignment - 1)) !== 0) {
          raise(`alignment ${alignment} is not a power of 2`);
        }
        this.#alignment = alignment;
        return;
      }
      default:
        raiseArgument(1, `invalid format option '${this.option}'`);
    }
  }
}
