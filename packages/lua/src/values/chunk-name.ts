const NAME_MAX = 59;

/** How messages name a chunk. luaO_chunkid. */
export function shortName(name: string): string {
  if (name.startsWith('=')) return name.slice(1, NAME_MAX + 1);
  if (name.startsWith('@')) return name.length - 1 > 52 ? `...${name.slice(-52)}` : name.slice(1);
  const [line = ''] = name.split(/[\r\n]/, 1);
  const room = NAME_MAX - ' [string "..."] '.length;
  const cut = line.length > room ? line.slice(0, room) : line;
  return cut.length < name.length ? `[string "${cut}..."]` : `[string "${cut}"]`;
}
