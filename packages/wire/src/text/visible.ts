const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Control and bidirectional characters written out, because a terminal acts upon them and names come from clients and
 * peers: `\x1b`, `\u202e`.
 */
export function makeVisible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0);
    return NAMED[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
