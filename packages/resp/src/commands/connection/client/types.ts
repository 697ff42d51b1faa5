/** What Redis knows as types of clients; all of ours are normal. */
const CLIENT_TYPES: ReadonlySet<string> = new Set(['normal', 'master', 'slave', 'replica', 'pubsub']);

/** Whether clients of this type are ours; undefined where there is no such type. */
export function typeIsNormal(type: string): boolean | undefined {
  const name = type.toLowerCase();
  return CLIENT_TYPES.has(name) ? name === 'normal' : undefined;
}
