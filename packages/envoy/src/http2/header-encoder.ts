/** Longer texts than this have their length in more than one byte. */
const SHORT_TEXT_BYTES = 126;

/**
 * A header block of literals that add nothing to the client's table: it is the same for every connection, so replies
 * are made of blocks that are encoded once.
 */
export function encodeHeaders(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), encodeText(name), encodeText(value)]),
  );
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length <= SHORT_TEXT_BYTES) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [SHORT_TEXT_BYTES + 1];
  let rest = bytes.length - length[0];
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
