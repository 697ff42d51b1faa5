import { expect, test } from 'vitest';
import { estimateRequest } from './estimate.js';
import { isUsageOnly, UsageMeter } from './usage-meter.js';

const estimate = { prompt: 30, cachedPrompt: 0, completion: 500 };
const piece = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

test('the usage that the upstream reports counts, with its cached tokens', () => {
  const meter = new UsageMeter(estimate);
  meter.note(piece('hello'));
  const usage = { prompt_tokens: 12, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 5 } };
  meter.note({ choices: [], usage });
  expect(meter.usage).toEqual({ prompt: 12, cachedPrompt: 5, completion: 7 });
});

test('a stream that broke off counts its prompt as estimated and a token for every piece, or four bytes', () => {
  const meter = new UsageMeter(estimate);
  meter.note({ choices: [{ delta: { role: 'assistant' } }] });
  for (const word of ['a', 'b', 'c']) meter.note(piece(word));
  expect(meter.usage).toEqual({ prompt: 30, cachedPrompt: 0, completion: 3 });
  meter.note(piece('x'.repeat(400)));
  expect(meter.usage.completion).toBe(101);
});

test('the arguments of tools are text that a model wrote', () => {
  const meter = new UsageMeter(estimate);
  meter.note({ choices: [{ delta: { tool_calls: [{ id: 'c1', function: { arguments: '{"a":12}' } }] } }] });
  expect(meter.usage.completion).toBe(2);
});

test('usage that makes no sense is not believed', () => {
  for (const usage of [
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: 1e12 },
    { prompt_tokens: '5' },
    null,
  ]) {
    const meter = new UsageMeter(estimate);
    meter.note({ choices: [], usage });
    expect(meter.isReported).toBe(false);
  }
});

test('only a piece without choices is nothing but usage', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  expect(isUsageOnly({ choices: [], usage })).toBe(true);
  expect(isUsageOnly({ ...piece('x'), usage })).toBe(false);
  expect(isUsageOnly({ choices: [], usage: null })).toBe(false);
});

test('an estimate is the text of the prompt and the longest completion, for every choice', () => {
  const messages = [{ role: 'user', content: 'x'.repeat(392) }];
  expect(estimateRequest({ messages, max_tokens: 50 })).toEqual({ prompt: 103, cachedPrompt: 0, completion: 50 });
  expect(estimateRequest({ messages, max_completion_tokens: 50, n: 3 }).completion).toBe(150);
  expect(estimateRequest({ messages }).completion).toBe(1_024);
  expect(estimateRequest({ messages, max_tokens: -5, n: 1e9 }).completion).toBe(1_024 * 128);
});

test('an image in a prompt is not counted as text', () => {
  const url = `data:image/png;base64,${'A'.repeat(100_000)}`;
  const content = [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: 'x'.repeat(40) },
  ];
  expect(estimateRequest({ messages: [{ role: 'user', content }] }).prompt).toBeLessThan(20);
});
