import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { QuotadbClient } from '@quotadb/client';
import { afterEach, expect, test } from 'vitest';
import { useTestServers } from '../../testing/index.js';
import { ModelUpstream } from './model-upstream.js';

const page = readFileSync(new URL('../../../../../docs/budgets.md', import.meta.url), 'utf8');
const startServer = useTestServers();
const upstream = new ModelUpstream();
afterEach(() => upstream.close());

/** A question to the proxy of the guide, and the end of the program. */
const TAIL = `
  const body = JSON.stringify({ model: 'small-model', messages: [], max_tokens: 50 });
  const answer = await fetch(address, { method: 'POST', body, headers: { Authorization: 'Bearer key' } });
  console.log(answer.status, (await answer.json()).usage.completion_tokens);
  process.exit(0);
`;

test('the code of docs/budgets.md runs, and prints what the page says', async () => {
  const { port } = await startServer();
  const client = QuotadbClient.open(`quotadb://127.0.0.1:${port}`);
  const definitions = [...page.matchAll(/^\$ npx quotadb cli (QUOTA\.DEFINE .*)$/gm)].map(
    ([, command = '']) => command,
  );
  expect(definitions).toHaveLength(3);
  for (const command of definitions) await client.send(command.split(' '));
  await client.close();
  const code = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, block = '']) => block).join('\n');
  const local = code
    .replace('quotadb://127.0.0.1:6380', `quotadb://127.0.0.1:${port}`)
    .replace('https://api.openai.com', await upstream.listen())
    .replace(
      /^createServer\(.*$/m,
      `const served = createServer(nodeHandler(proxy));
       await new Promise((resolve) => served.listen(0, '127.0.0.1', resolve));
       const address = 'http://127.0.0.1:' + served.address().port + '/v1/chat/completions';`,
    );
  const child = spawn(process.execPath, ['--input-type=module', '-e', local + TAIL], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('.', import.meta.url),
  });
  const printed: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => printed.push(part));
  const [exitCode] = await once(child, 'close');
  expect(exitCode).toBe(0);
  expect(Buffer.concat(printed).toString()).toBe('600 of llm-tokens\n4525 of llm-money\n200 20\n');
});
