/** A table in Markdown; `textColumns` are the ones aligned to the left. */
export function markdownTable(
  header: readonly string[],
  textColumns: readonly number[],
  rows: readonly (readonly string[])[],
): string[] {
  const rule = header.map((_, column) => (textColumns.includes(column) ? '---' : '---:'));
  return [header, rule, ...rows].map((row) => `| ${row.join(' | ')} |`);
}
