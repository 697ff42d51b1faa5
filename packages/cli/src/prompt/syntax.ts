/**
 * The syntax of a command, `key [EX seconds | PERSIST] [key ...]`, in parts: a word, or a group in brackets with its
 * alternatives. A word in capitals is typed as it is; any other stands for a value.
 */
const KEYWORD = /^[A-Z][A-Z-]*$/;
const REPEATED = '...';

/** What of a syntax may still follow behind these words. */
export function syntaxBehind(syntax: string, words: readonly string[]): string {
  return partsLeft(split(syntax, ' '), words).join(' ');
}

/** Options come in any order: those before the one that was typed are still possible behind it. */
function partsLeft(parts: readonly string[], words: readonly string[]): readonly string[] {
  const [word, ...more] = words;
  if (word === undefined) return parts;
  const firstNeeded = parts.findIndex((part) => !part.startsWith('['));
  const possible = firstNeeded === -1 ? parts : parts.slice(0, firstNeeded + 1);
  const named = possible.findIndex((part) => isGroup(part) && findAlternative(part, word, true) !== undefined);
  const at = named === -1 ? possible.findIndex((part) => behind(part, word) !== undefined) : named;
  if (at === -1) return parts;
  const others = parts.filter((_, index) => index !== at);
  return partsLeft([...(behind(parts[at], word) ?? []), ...others], more);
}

/** What follows in this part behind the word; undefined where the word is none of it. */
function behind(part: string, word: string): readonly string[] | undefined {
  if (!isGroup(part)) return [];
  const chosen = findAlternative(part, word, true) ?? findAlternative(part, word, false);
  // A word that is none of a choice takes its place.
  if (chosen === undefined) return part.startsWith('<') ? [] : undefined;
  const rest = chosen.slice(1).filter((one) => one !== REPEATED);
  return chosen.includes(REPEATED) ? [...rest, part] : rest;
}

function findAlternative(group: string, word: string, isNamed: boolean): readonly string[] | undefined {
  return alternativesOf(group).find(([first]) =>
    KEYWORD.test(first) ? isNamed && word !== '' && first.startsWith(word.toUpperCase()) : !isNamed,
  );
}

function isGroup(part: string): boolean {
  return part.startsWith('[') || part.startsWith('<');
}

/** The words of each alternative of a group; a group that begins with another one has that one's, too. */
function alternativesOf(group: string): readonly (readonly string[])[] {
  return split(group.slice(1, -1), ' | ').flatMap((text) => {
    const [first, ...others] = split(text, ' ');
    return isGroup(first) ? alternativesOf(first).map((words) => [...words, ...others]) : [[first, ...others]];
  });
}

/** Brackets stay whole. */
function split(text: string, separator: string): string[] {
  const parts = [''];
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if ('[<'.includes(character)) depth++;
    if (']>'.includes(character)) depth--;
    if (depth === 0 && text.startsWith(separator, index)) {
      parts.push('');
      index += separator.length - 1;
    } else {
      parts[parts.length - 1] += character;
    }
  }
  return parts.filter((part) => part !== '');
}
