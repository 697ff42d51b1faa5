/** A word of a command. Numbers must be integers that a double holds exactly. */
export type Word = string | number | bigint | Uint8Array;

/** The bytes of a command: text, or pieces where words of bytes are among it. */
export type Encoded = string | readonly (string | Uint8Array)[];

export function encodeCommand(words: readonly Word[]): Encoded {
  const pieces: (string | Uint8Array)[] = [];
  let text = `*${words.length}\r\n`;
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!;
    if (typeof word === 'object') {
      pieces.push(`${text}$${word.length}\r\n`, word);
      text = '\r\n';
    } else if (typeof word === 'string') {
      text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
    } else if (typeof word === 'number' && !Number.isSafeInteger(word)) {
      throw new RangeError(`${word} is no integer that a number holds exactly; use a bigint`);
    } else {
      const digits = String(word);
      text += `$${digits.length}\r\n${digits}\r\n`;
    }
  }
  return pieces.length === 0 ? text : [...pieces, text];
}
