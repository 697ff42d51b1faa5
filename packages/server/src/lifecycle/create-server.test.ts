import { ConfigurationError } from '@quotadb/config';
import { TestClient } from '@quotadb/resp/testing';
import { expect, test } from 'vitest';
import { createServer } from '../index.js';

test('a program that embeds the server starts it, counts in it and stops it', async () => {
  const server = createServer({ respPort: 0, httpPort: 0, replicationPort: -1, transport: 'net', logLevel: 'error' });
  await server.start();
  const client = await TestClient.open(server.state.identity.respPort);
  expect(await client.call('INCR', 'visits')).toBe(':1\r\n');
  client.close();
  await server.stop();
});

test('settings that contradict each other are all named', () => {
  expect(() => createServer({ memory: true, dataDirectory: './data', respPort: -1 })).toThrow(ConfigurationError);
});
