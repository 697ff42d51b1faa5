import { setTimeout as wait } from 'node:timers/promises';
import { commands } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { encodeCommand, TestClient, TestLane, useTestServers } from '../testing/index.js';

/** A password that a client sends appears nowhere: not in SLOWLOG, not on the dashboard, in no figure. */

const start = useTestServers();
const SECRET = 'hunter2';

test('every command that can carry a secret declares it', () => {
  const all = commands.flatMap((command) => [command, ...(command.subcommands ?? [])]);
  const declared = all.filter(({ secretsFrom }) => secretsFrom !== undefined).map(({ name }) => name);
  expect(declared.toSorted()).toEqual(['auth', 'hello', 'set']);
  for (const { name, syntax, secretsFrom } of all) {
    if (/password|secret|\bauth\b|parameter value/i.test(syntax))
      expect([name, secretsFrom]).not.toEqual([name, undefined]);
  }
});

test('what is recorded of a command ends where its secrets begin', () => {
  const session = new TestLane({ slowlogSlowerThanMicroseconds: 0 }).open();
  session.call('AUTH', 'default', SECRET);
  session.call('HELLO', 3, 'AUTH', 'default', SECRET, 'SETNAME', 'me');
  session.call('HELLO', 2);
  session.call('CONFIG', 'SET', 'requirepas', SECRET);
  session.call('GET', 'a');
  const recorded = session.client;
  expect(recorded.name).toBe('me');
  const log = session.call('SLOWLOG', 'GET', '-1');
  const words = [...log.matchAll(/\$\d+\r\n([^\r]*)\r\n/g)].map(([, word]) => word).join(' ');
  expect(words).not.toContain(SECRET);
  expect(words).toMatch(
    /GET a .*CONFIG SET requirepas \(redacted\) .*HELLO 3 \(redacted\) .*AUTH \(redacted\) \(redacted\)/,
  );
});

test('no place that others see shows a password', async () => {
  const { port, httpPort } = await start({ password: SECRET, slowlogSlowerThanMicroseconds: 0, latencyThresholdMs: 1 });
  const client = await TestClient.open(port);
  const attempts: (string | number)[][] = [
    ['AUTH', SECRET],
    ['AUTH', 'default', SECRET],
    ['HELLO', 2, 'AUTH', 'default', SECRET],
    ['CONFIG', 'SET', 'requirepass', SECRET],
    ['CONFIG', 'SET', 'timeout', 0, 'requirepass', SECRET],
    ['CONFIG', 'SET', 'requirepas', SECRET],
    ['ACL', 'SETUSER', 'x', `>${SECRET}`],
    ['AUTHH', SECRET],
    ['AUTH', 'a', 'b', SECRET],
    ['MULTI'],
    ['AUTH', SECRET],
    ['HELLO', 2, 'AUTH', 'default', SECRET],
    ['EXEC'],
  ];
  for (const words of attempts) await client.call(...words);
  // A login of its own that is delayed, so that it waits while others look.
  const guesser = await TestClient.open(port);
  guesser.write(encodeCommand('AUTH', `${SECRET}x`));
  const shown: string[] = [];
  const lines = ['SLOWLOG GET -1', 'CLIENT LIST', 'INFO everything', 'LATENCY LATEST', 'ACL LIST'];
  for (const line of lines) shown.push(await client.call(...line.split(' ')));
  const headers = { authorization: `Basic ${btoa(`default:${SECRET}`)}` };
  for (const path of ['/metrics', '/api/v1/dashboard/configuration', '/api/v1/dashboard/events']) {
    const response = await fetch(`http://127.0.0.1:${httpPort}${path}`, { headers });
    expect([path, response.status]).toEqual([path, 200]);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    shown.push(Buffer.from(value ?? []).toString());
    await Promise.race([reader.cancel(), wait(1000)]);
  }
  expect(shown.join('')).toContain('(redacted)');
  for (const text of shown) expect(text).not.toContain(SECRET);
  guesser.close();
  client.close();
});
