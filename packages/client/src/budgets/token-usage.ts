/** The tokens of one request to a model. Those of the prompt that came from a cache are part of the prompt. */
export interface TokenUsage {
  readonly prompt: number;
  readonly cachedPrompt: number;
  readonly completion: number;
}

export const NO_USAGE: TokenUsage = { prompt: 0, cachedPrompt: 0, completion: 0 };

/** More than any model reads or writes; an upstream that reports more is not believed. */
export const MAXIMUM_TOKENS = 1_000_000_000;

/**
 * The `usage` of an answer: as chat completions, completions and embeddings report it, or as responses do. Undefined
 * where there is none, or none that makes sense.
 */
export function readUsage(answer: unknown): TokenUsage | undefined {
  const usage = field(answer, 'usage') ?? field(field(answer, 'response'), 'usage');
  const prompt = field(usage, 'prompt_tokens') ?? field(usage, 'input_tokens');
  const completion = field(usage, 'completion_tokens') ?? field(usage, 'output_tokens') ?? 0;
  const details = field(usage, 'prompt_tokens_details') ?? field(usage, 'input_tokens_details');
  const cachedPrompt = field(details, 'cached_tokens') ?? 0;
  if (!isTokens(prompt) || !isTokens(completion)) return undefined;
  return { prompt, cachedPrompt: isTokens(cachedPrompt) ? Math.min(cachedPrompt, prompt) : 0, completion };
}

export function totalOf({ prompt, completion }: TokenUsage): number {
  return prompt + completion;
}

export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAXIMUM_TOKENS;
}

/** A field of an object that came from outside; null counts as missing. */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name] ?? undefined;
}
