import { field, isTokens, MAXIMUM_TOKENS, type TokenUsage } from './token-usage.js';

export interface EstimateOptions {
  /** Completion tokens of a request that does not limit them; 1,024 if left out. */
  readonly defaultCompletionTokens?: number;
  /** Counts the tokens of a prompt; a token for every four bytes of text if left out. */
  readonly countPrompt?: (body: Readonly<Record<string, unknown>>) => number;
}

const DEFAULT_COMPLETION_TOKENS = 1_024;
/** Of English text and most tokenizers; the settlement has the true figure. */
const BYTES_PER_TOKEN = 4;
/** What a message adds to its text: its role and its end. */
const TOKENS_PER_MESSAGE = 4;
/** Deeper than any request of the interface. */
const MAXIMUM_DEPTH = 16;
const MAXIMUM_CHOICES = 128;

/** The most that a request is expected to use. */
export function estimateRequest(body: Readonly<Record<string, unknown>>, options: EstimateOptions = {}): TokenUsage {
  const { defaultCompletionTokens = DEFAULT_COMPLETION_TOKENS, countPrompt = countPromptByLength } = options;
  const named = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  const each = isTokens(named) ? named : defaultCompletionTokens;
  const choices = Number.isSafeInteger(body.n) ? Math.min(Math.max(body.n as number, 1), MAXIMUM_CHOICES) : 1;
  const prompt = Math.min(Math.max(Math.ceil(countPrompt(body)), 1), MAXIMUM_TOKENS);
  return { prompt, cachedPrompt: 0, completion: Math.min(each * choices, MAXIMUM_TOKENS) };
}

/** As many completion tokens as a text has about. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function countPromptByLength(body: Readonly<Record<string, unknown>>): number {
  const parts = [body.messages, body.prompt, body.input, body.instructions, body.tools, body.functions];
  const messages = Array.isArray(body.messages) ? body.messages.length : 1;
  return tokensOfBytes(parts.reduce<number>((sum, part) => sum + bytesOf(part, 0), 0)) + messages * TOKENS_PER_MESSAGE;
}

/** The bytes of all text in a value. An image that is in it as data counts as its address does: not at all. */
function bytesOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.startsWith('data:') ? 0 : utf8Length(value);
  if (typeof value !== 'object' || value === null || depth > MAXIMUM_DEPTH) return 0;
  if (field(value, 'type') === 'image_url') return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + bytesOf(part, depth + 1), 0);
}

const encoder = new TextEncoder();
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
