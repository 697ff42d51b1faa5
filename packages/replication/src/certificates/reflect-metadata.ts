/**
 * @peculiar/x509 is built with decorators and needs a Reflect with metadata, which Node does not have. These are the
 * functions that the library uses. Imported before it, and only where certificates are made.
 */
const kept = new WeakMap<object, Map<unknown, unknown>>();

const metadata = {
  defineMetadata(key: unknown, value: unknown, target: object): void {
    const of = kept.get(target) ?? new Map<unknown, unknown>();
    kept.set(target, of.set(key, value));
  },

  getOwnMetadata(key: unknown, target: object): unknown {
    return kept.get(target)?.get(key);
  },

  getMetadata(key: unknown, target: object): unknown {
    for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at)) {
      const of = kept.get(at);
      if (of?.has(key)) return of.get(key);
    }
    return undefined;
  },
};

for (const [name, value] of Object.entries(metadata)) {
  if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value, configurable: true, writable: true });
}
