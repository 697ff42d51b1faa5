import { type Catalogue, type LimitEntry, limitSchema, MAXIMUM_LIMITS } from './schema.js';

/** Without any mistake of its own; of the kind that may have every window. */
const USUAL = { kind: 'exact', limit: 1, window: '1d' } as const;

/** What can be checked where the kind is wrong. */
const FIELDS_ABOUT_WINDOWS = ['timeZone', 'anchorDay'] as const;
const FIELDS_OF_ANY_KIND = ['domain', 'parent', 'overrides', 'window', ...FIELDS_ABOUT_WINDOWS] as const;

/**
 * What there is to check of a catalogue whose form is wrong somewhere, so that all mistakes are found at once: fields
 * that are wrong are left out, or have a value without mistakes. Limits and plans are all there by name, because others
 * may refer to them.
 */
export function likenessOf(given: unknown): Catalogue {
  const { plans, limits } = partsOf(given);
  return {
    plans: Object.fromEntries(Object.entries(partsOf(plans)).map(([name, plan]) => [name, planOf(plan)])),
    limits: Array.isArray(limits) ? limits.slice(0, MAXIMUM_LIMITS).map(limitOf) : [],
  };
}

function limitOf(given: unknown, index: number): LimitEntry {
  const read = limitSchema.safeParse(given);
  if (read.success) return read.data;
  const entry = partsOf(given);
  const wrong = new Set(read.error.issues.map(({ path }) => path[0]));
  const name = wrong.has('name') || typeof entry.name !== 'string' ? `\0${index}` : entry.name;
  const known = Object.keys(limitSchema.shape).filter((field) => !wrong.has(field) && field in entry);
  const parts: Record<string, unknown> = Object.fromEntries(known.map((field) => [field, entry[field]]));
  if (Array.isArray(entry.overrides)) parts.overrides = overridesOf(entry.overrides, read.error.issues);
  // A rule about a wrong field, or one that reads it, would report a guess.
  if (wrong.has('window')) for (const field of FIELDS_ABOUT_WINDOWS) delete parts[field];
  if (wrong.has('window') && parts.kind !== 'concurrency') parts.window = USUAL.window;
  if (wrong.has('hold') && parts.kind === 'concurrency') parts.hold = '1s';
  if (wrong.has('limit')) delete parts.burst;
  const likeness = limitSchema.safeParse({ limit: USUAL.limit, ...parts, name });
  if (likeness.success) return likeness.data;
  if (parts.window === undefined) for (const field of FIELDS_ABOUT_WINDOWS) delete parts[field];
  const common = FIELDS_OF_ANY_KIND.filter((field) => parts[field] !== undefined).map((field) => [field, parts[field]]);
  const least = limitSchema.safeParse({ ...USUAL, ...Object.fromEntries(common), name });
  return least.success ? least.data : { ...USUAL, name };
}

/** Those that are wrong are replaced: their places are in the mistakes of the others. */
function overridesOf(given: readonly unknown[], issues: readonly { readonly path: readonly PropertyKey[] }[]): unknown {
  const wrong = new Set(issues.filter(({ path }) => path[0] === 'overrides').map(({ path }) => path[1]));
  return given.map((override, index) => (wrong.has(index) ? { subject: `wrong ${index}`, limit: 1 } : override));
}

function planOf(given: unknown): { subjects: string[] } {
  const { subjects } = partsOf(given);
  return { subjects: Array.isArray(subjects) ? subjects.filter((subject) => typeof subject === 'string') : [] };
}

function partsOf(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}
