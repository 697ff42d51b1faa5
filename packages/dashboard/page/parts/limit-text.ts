/** The fields of a limit that a form has, as people write them; all other fields stay as they are in the text. */
export const LIMIT_FIELDS = ['kind', 'limit', 'window', 'burst', 'hold', 'domain', 'parent'] as const;
export type LimitField = (typeof LIMIT_FIELDS)[number];

export const LIMIT_KINDS = ['exact', 'sliding', 'fixed', 'bucket', 'concurrency'] as const;

/** Those of the fields that only some kinds have, and what a new one begins with. */
const ONLY_OF: Partial<Record<LimitField, { readonly kinds: readonly string[]; readonly first?: string }>> = {
  window: { kinds: ['exact', 'sliding', 'fixed', 'bucket'], first: '1m' },
  burst: { kinds: ['bucket'] },
  hold: { kinds: ['concurrency'], first: '30s' },
};

export function hasField(kind: string, field: LimitField): boolean {
  return ONLY_OF[field]?.kinds.includes(kind) ?? true;
}

/** Undefined where the text is no JSON object: then there is nothing to show in a form. */
export function readLimitText(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The text with one field as a person wrote it; an empty one is left out. Digits are a number. */
export function writeLimitField(text: string, field: LimitField, words: string): string {
  const before = readLimitText(text);
  if (before === undefined) return text;
  const { [field]: _, ...others } = before;
  const given = words.trim();
  const value = /^\d{1,15}$/.test(given) ? Number(given) : given;
  // A field that was there keeps its place.
  const after = field in before ? { ...before, [field]: value } : { ...others, [field]: value };
  return JSON.stringify(field === 'kind' ? withFieldsOf(given, after) : given === '' ? others : after, null, 2);
}

/** What other kinds have goes, and what this kind must have comes. */
function withFieldsOf(kind: string, entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.fromEntries(
    Object.entries(entry).filter(([name]) => hasField(kind, name as LimitField) || !(name in ONLY_OF)),
  );
  for (const [name, { first }] of Object.entries(ONLY_OF))
    if (first !== undefined && hasField(kind, name as LimitField)) kept[name] ??= first;
  return kept;
}
