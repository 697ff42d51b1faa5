import { tokensOfBytes, utf8Length } from './estimate.js';
import { field, readUsage, type TokenUsage } from './token-usage.js';

/**
 * Counts the tokens of an answer while it passes: as the upstream reports them, or, where it broke off before it did,
 * from the text that was seen. Then the prompt counts as estimated, and the completion as one token for every piece
 * that had text, or for every four bytes of it where that is more.
 */
export class UsageMeter {
  readonly #estimate: TokenUsage;
  #reported: TokenUsage | undefined;
  #pieces = 0;
  #bytes = 0;

  constructor(estimate: TokenUsage) {
    this.#estimate = estimate;
  }

  /** Whether the upstream has reported the usage. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** Notes one streamed piece, or a whole answer. */
  note(answer: unknown): void {
    this.#reported = readUsage(answer) ?? this.#reported;
    const choices = field(answer, 'choices');
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      const bytes = textBytesOf(field(choice, 'delta') ?? field(choice, 'message') ?? choice);
      this.#bytes += bytes;
      if (bytes > 0) this.#pieces++;
    }
  }

  /** An answer that could not be read counts as all of its estimate. */
  giveUp(): void {
    this.#reported ??= this.#estimate;
  }

  get usage(): TokenUsage {
    const { prompt } = this.#estimate;
    return (
      this.#reported ?? { prompt, cachedPrompt: 0, completion: Math.max(this.#pieces, tokensOfBytes(this.#bytes)) }
    );
  }
}

/** Whether a streamed piece has the usage and nothing else, as `stream_options.include_usage` adds it. */
export function isUsageOnly(piece: unknown): boolean {
  const choices = field(piece, 'choices');
  return Array.isArray(choices) && choices.length === 0 && readUsage(piece) !== undefined;
}

/** Text, refusals, reasoning, and the arguments of tools: everything that a model writes is a string in its message. */
function textBytesOf(message: unknown): number {
  if (typeof message !== 'object' || message === null) return 0;
  let bytes = 0;
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || name === 'id' || name === 'type' || name === 'finish_reason') continue;
    if (typeof value === 'string') bytes += utf8Length(value);
    else if (name === 'tool_calls' && Array.isArray(value))
      for (const call of value) bytes += textBytesOf(field(call, 'function'));
    else if (name === 'function_call') bytes += textBytesOf(value);
  }
  return bytes;
}
