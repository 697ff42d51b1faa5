/**
 * Counts complete RESP2 replies in a stream that may be cut anywhere, without building anything from them: the client
 * shares the machine with the server, so every cycle it spends is one the server may not have.
 *
 * An array of n elements stands for n replies instead of one, so the number of values still to come is all there is to
 * remember, however deep arrays are nested.
 */
const NEWLINE = 10;
const MINUS = 45;
const ZERO = 48;
const COLON = 58;
const PLUS = 43;
const DOLLAR = 36;
const ASTERISK = 42;

const EXPECT_TYPE = 0;
const IN_LINE = 1;
const IN_LENGTH = 2;
const IN_BULK = 3;
const IN_ERROR = 4;

const MAX_ERROR_TEXT = 200;
const TRAILING_NEWLINE_BYTES = 2;

export class ReplyCounter {
  errors = 0;
  /** What the first error said: enough to tell the reader why a run is void. */
  firstError = '';

  #state = EXPECT_TYPE;
  #isArray = false;
  #isNegative = false;
  #number = 0;
  #bulkLeft = 0;
  #valuesLeft = 1;

  /** How many top-level replies end in these bytes. */
  count(bytes: Uint8Array, length: number): number {
    let complete = 0;
    let index = 0;
    while (index < length) {
      if (this.#state === IN_BULK) {
        const skipped = Math.min(this.#bulkLeft, length - index);
        index += skipped;
        this.#bulkLeft -= skipped;
        if (this.#bulkLeft === 0) complete += this.#endValue();
        continue;
      }
      const byte = bytes[index++]!;
      switch (this.#state) {
        case EXPECT_TYPE:
          this.#begin(byte);
          break;
        case IN_LINE:
          if (byte === NEWLINE) complete += this.#endValue();
          break;
        case IN_LENGTH:
          if (byte === MINUS) this.#isNegative = true;
          else if (byte === NEWLINE) complete += this.#endLength();
          else if (byte >= ZERO) this.#number = this.#number * 10 + byte - ZERO;
          break;
        case IN_ERROR:
          if (byte === NEWLINE) complete += this.#endValue();
          else if (this.errors === 1 && this.firstError.length < MAX_ERROR_TEXT && byte !== 13) {
            this.firstError += String.fromCharCode(byte);
          }
          break;
      }
    }
    return complete;
  }

  #begin(type: number): void {
    switch (type) {
      case COLON:
      case PLUS:
        this.#state = IN_LINE;
        return;
      case DOLLAR:
      case ASTERISK:
        this.#state = IN_LENGTH;
        this.#isArray = type === ASTERISK;
        this.#isNegative = false;
        this.#number = 0;
        return;
      case MINUS:
        this.#state = IN_ERROR;
        this.errors++;
        return;
      default:
        throw new Error(`the server sent something that is no RESP2 reply (type byte ${type})`);
    }
  }

  #endLength(): number {
    if (this.#isNegative || (this.#isArray && this.#number === 0)) return this.#endValue();
    if (this.#isArray) {
      this.#valuesLeft += this.#number - 1;
      this.#state = EXPECT_TYPE;
      return 0;
    }
    this.#state = IN_BULK;
    this.#bulkLeft = this.#number + TRAILING_NEWLINE_BYTES;
    return 0;
  }

  /** Ends one value; 1 when that completes a top-level reply. */
  #endValue(): number {
    this.#state = EXPECT_TYPE;
    if (--this.#valuesLeft > 0) return 0;
    this.#valuesLeft = 1;
    return 1;
  }
}
