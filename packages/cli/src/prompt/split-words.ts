const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };

/**
 * Splits a line as a shell would, by the rules of redis-cli: words between blanks; "double quotes" know \n, \r, \t and
 * \xHH; in 'single quotes' only \' is special. Undefined where a quote is not closed, or text follows it directly.
 */
export function splitWords(line: string): readonly Buffer[] | undefined {
  const words: Buffer[] = [];
  let position = 0;
  for (;;) {
    while (isBlank(line[position])) position++;
    if (position >= line.length) return words;
    const parts: Buffer[] = [];
    while (position < line.length && !isBlank(line[position])) {
      const character = line[position];
      if (character !== '"' && character !== "'") {
        const start = position;
        while (position < line.length && !isBlank(line[position]) && !`"'`.includes(line[position])) position++;
        parts.push(Buffer.from(line.slice(start, position)));
        continue;
      }
      const quoted = character === '"' ? readDouble(line, position + 1) : readSingle(line, position + 1);
      if (quoted === undefined) return undefined;
      parts.push(quoted.bytes);
      position = quoted.end;
      if (position < line.length && !isBlank(line[position])) return undefined;
    }
    words.push(Buffer.concat(parts));
  }
}

interface Quoted {
  readonly bytes: Buffer;
  readonly end: number;
}

function readDouble(line: string, from: number): Quoted | undefined {
  const parts: Buffer[] = [];
  for (let position = from; position < line.length; position++) {
    const character = line[position];
    if (character === '"') return { bytes: Buffer.concat(parts), end: position + 1 };
    if (character !== '\\') {
      parts.push(Buffer.from(character));
      continue;
    }
    const hexadecimal = /^x([0-9a-fA-F]{2})/.exec(line.slice(position + 1));
    if (hexadecimal !== null) {
      parts.push(Buffer.of(Number.parseInt(hexadecimal[1], 16)));
      position += 3;
      continue;
    }
    position++;
    const escaped = line[position] ?? '';
    parts.push(Buffer.from(ESCAPES[escaped] ?? escaped));
  }
  return undefined;
}

function readSingle(line: string, from: number): Quoted | undefined {
  let text = '';
  for (let position = from; position < line.length; position++) {
    if (line[position] === "'") return { bytes: Buffer.from(text), end: position + 1 };
    if (line[position] === '\\' && line[position + 1] === "'") position++;
    text += line[position];
  }
  return undefined;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
