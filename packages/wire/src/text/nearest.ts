/** A word of four letters may have one mistake, longer ones up to a third of their letters. */
const LETTERS_A_MISTAKE = 3;
/** Longer words are not compared: the work grows with the square of the length. */
const MAXIMUM_LENGTH = 64;

/** The candidate that a mistyped word is most likely meant to be; undefined where none is close. */
export function nearestOf(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAXIMUM_LENGTH) return undefined;
  const typed = word.toLowerCase();
  let nearest: string | undefined;
  let fewest = Math.max(1, Math.floor(word.length / LETTERS_A_MISTAKE)) + 1;
  for (const candidate of candidates) {
    const mistakes = countMistakes(typed, candidate.toLowerCase());
    if (mistakes < fewest && mistakes < candidate.length) {
      nearest = candidate;
      fewest = mistakes;
    }
  }
  return nearest;
}

/** Letters to add, leave out, replace or swap with their neighbour (optimal string alignment). */
function countMistakes(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let least = Math.min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1));
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) least = Math.min(least, before[column - 2] + 1);
      current.push(least);
    }
    [before, last] = [last, current];
  }
  return last[to.length];
}
