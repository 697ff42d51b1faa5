import { expect, test } from 'vitest';
import { commandLines } from './command-lines.js';

const texts = (page: string) => commandLines(page).map(({ text }) => text);

test('commands are found in plain blocks, without prompts, comments, outputs and what may be left out', () => {
  const page = `
\`\`\`json
{}
\`\`\`

\`\`\`
$ QUOTADB_PASSWORD=x quotadb serve --data ./data \\
    --fsync always [--tls-ca a.crt]      # until Ctrl-C
quotadb is not a command here, but output
$ redis-cli -p 6380 GET a
"1"
$ quotadb hash-password < file        scrypt:…
\`\`\`

\`\`\`
npx quotadb certs init  --cluster orders     # ca.crt
npm ci
\`\`\`

\`\`\`console
$ npx quotadb cli INCR a
\`\`\`
`;
  expect(texts(page)).toEqual([
    'QUOTADB_PASSWORD=x quotadb serve --data ./data --fsync always',
    'redis-cli -p 6380 GET a',
    'quotadb hash-password < file',
    'npx quotadb certs init  --cluster orders',
  ]);
});

test('a command that the page shows refused is marked', () => {
  const [first, second] = commandLines('```\n$ quotadb cli GET a\n(error) STALE\n$ quotadb cli GET a\n"1"\n```\n');
  expect([first?.isRefused, second?.isRefused]).toEqual([true, false]);
});
