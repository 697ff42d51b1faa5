/** A word of a command. Numbers must be integers that a double holds exactly. */
export type Word = string | number | bigint | Uint8Array;

/** A command as it is sent: text, or pieces where it has bytes in it. */
export type Encoded = string | readonly (string | Uint8Array)[];

export function encodeCommand(words: readonly Word[]): Encoded {
  let text = `*${words.length}\r\n`;
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!;
    if (typeof word === 'string') text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
    else if (typeof word === 'object') return encodePieces(words);
    else text += encodeNumber(word);
  }
  return text;
}

function encodeNumber(word: number | bigint): string {
  if (typeof word === 'number' && !Number.isSafeInteger(word)) {
    throw new RangeError(`${word} is no integer that a number holds exactly; use a bigint`);
  }
  const digits = String(word);
  return `$${digits.length}\r\n${digits}\r\n`;
}

function encodePieces(words: readonly Word[]): (string | Uint8Array)[] {
  const pieces: (string | Uint8Array)[] = [`*${words.length}\r\n`];
  for (const word of words) {
    if (typeof word === 'object') pieces.push(`$${word.length}\r\n`, word, '\r\n');
    else if (typeof word === 'string') pieces.push(`$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    else pieces.push(encodeNumber(word));
  }
  return pieces;
}
