import { assert } from './assert.js';

/** Fields by name: the word, or the number (a double, two words), at which each begins in its record. */
type Fields = Readonly<Record<string, number>>;

/**
 * Run at module start for every record in shared memory: each field begins where no other lies and ends inside the
 * record. `runs` are the lengths in words of the fields that are longer than one word.
 */
export function assertFields(
  record: string,
  words: number,
  wordFields: Fields,
  numberFields: Fields = {},
  runs: Fields = {},
): void {
  const fieldAt: string[] = [];
  const claim = (field: string, from: number, length: number): void => {
    assert(from >= 0 && from + length <= words, `${field} lies inside the ${words} words of ${record}`);
    for (let word = from; word < from + length; word++) {
      assert(fieldAt[word] === undefined, `${field} and ${fieldAt[word]} of ${record} do not overlap`);
      fieldAt[word] = field;
    }
  };
  for (const [field, word] of Object.entries(wordFields)) {
    claim(field, word, runs[field] ?? 1);
    const high = wordFields[field.replace(/low$/, 'high').replace(/Low$/, 'High')];
    assert(high === word || high === word + 1, `the high half of ${field} in ${record} follows its low half`);
  }
  for (const [field, number] of Object.entries(numberFields)) claim(field, number * 2, 2);
}
