/**
 * Names come from clients. A character that is not seen, or that turns the text around it, could make one name look
 * like another: it is shown by its code instead.
 */
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Controls (Cc), formats such as bidirectional marks and zero-width joiners (Cf), surrogates without a partner (Cs),
 * line and paragraph separators (Zl, Zp), unassigned and private characters (Cn, Co), every space but the common one,
 * and fillers that are letters without a shape.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Cn}\p{Co}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;

export interface Part {
  readonly text: string;
  /** The code of a character, not the character. */
  readonly isCode: boolean;
}

export function visibleParts(text: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const { index, 0: character } of text.matchAll(HIDDEN)) {
    if (index > from) parts.push({ text: text.slice(from, index), isCode: false });
    parts.push({ text: codeOf(character), isCode: true });
    from = index + character.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isCode: false });
  return parts;
}

/** The same as one text, for labels. */
export function visibleText(text: string): string {
  return visibleParts(text)
    .map((part) => part.text)
    .join('');
}

function codeOf(character: string): string {
  const code = character.codePointAt(0) as number;
  const hex = code.toString(16).padStart(2, '0');
  return NAMED[character] ?? (code < 0x80 ? `\\x${hex}` : `\\u{${hex}}`);
}

/** Longer names are cut; the whole one is a tap away. */
const LONGEST_CHARACTERS = 40;
const END_CHARACTERS = 12;

export function isLong(text: string): boolean {
  return [...text].length > LONGEST_CHARACTERS;
}

/** The beginning and the end: names that begin alike differ at their ends. */
export function cut(text: string): string {
  const characters = [...text];
  if (characters.length <= LONGEST_CHARACTERS) return text;
  const begin = LONGEST_CHARACTERS - END_CHARACTERS - 1;
  return `${characters.slice(0, begin).join('')}…${characters.slice(-END_CHARACTERS).join('')}`;
}
