/**
 * A server that speaks the part of OpenAI's interface which llm-budget.mjs needs, without a model: it answers a chat
 * with as many words as `max_tokens` allows, counts every word as a token, and streams them if it is asked to.
 */
import { createServer } from 'node:http';

const WORDS = ['the', 'quick', 'brown', 'fox', 'jumps', 'over', 'a', 'lazy', 'dog'];

export async function startUpstream() {
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { messages, stream, stream_options: options, max_tokens: most = 9 } = JSON.parse(Buffer.concat(chunks));
    const words = Array.from({ length: most }, (_, index) => WORDS[index % WORDS.length]);
    const prompt = messages.flatMap(({ content }) => content.split(' ')).length;
    const usage = { prompt_tokens: prompt, completion_tokens: words.length, total_tokens: prompt + words.length };
    if (!stream) {
      const message = { role: 'assistant', content: words.join(' ') };
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (piece) => response.write(`data: ${JSON.stringify(piece)}\n\n`);
    for (const word of words) {
      if (response.destroyed) return;
      send({ choices: [{ index: 0, delta: { content: `${word} ` }, finish_reason: null }] });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (options?.include_usage) send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
