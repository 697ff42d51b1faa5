/** The entry of a key, made where the map has none. A full map drops the entry that was made first. */
export function entryOf<Entry>(
  entries: Map<string, Entry>,
  key: string,
  maxEntries: number,
  make: (key: string) => Entry,
): Entry {
  const found = entries.get(key);
  if (found !== undefined) return found;
  const entry = make(key);
  if (entries.size >= maxEntries) entries.delete(entries.keys().next().value!);
  entries.set(key, entry);
  return entry;
}
