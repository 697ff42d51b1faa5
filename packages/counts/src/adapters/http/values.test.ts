import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMemoryServer } from '../../testing/memory-server.js';
import type { TestServer } from '../../testing/test-server.js';

const COUNTS = '/api/v1/internal/counts';

describe.each([{ fastPath: false }, { fastPath: true }])('values, with the fast path: $fastPath', ({ fastPath }) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMemoryServer({ fastPath });
  });
  afterAll(() => server.stop());

  test('64-bit values are exact: numbers up to 2^53 - 1, strings past it, both forms accepted', async () => {
    await server.call('POST', COUNTS, { body: '{"itemId":"exact","initialValue":9007199254740991}' });
    const increase = (body: string) => server.call('POST', '/api/v1/counts/exact/increase', { body });
    expect((await increase('{"amount":0}')).text).toBe('{"itemId":"exact","value":9007199254740991}');
    expect((await increase('{"amount":1}')).text).toBe('{"itemId":"exact","value":"9007199254740992"}');
    expect((await increase('{"amount":9007199254740993}')).text).toBe('{"itemId":"exact","value":"18014398509481985"}');
    expect((await increase('{"amount":"9007199254740993"}')).text).toBe(
      '{"itemId":"exact","value":"27021597764222978"}',
    );
    expect((await increase('{"amount":1.0}')).text).toBe('{"itemId":"exact","value":"27021597764222979"}');
    const set = await server.call('PUT', `${COUNTS}/exact`, { body: '{"value":-9223372036854775808}' });
    expect(set.json.value).toBe('-9223372036854775808');
    const read = await server.call('GET', `${COUNTS}/exact`);
    expect(read.json.currentValue).toBe('-9223372036854775808');
  });

  test.each(['plain', 'with space', 'a/b', '100%', 'q?x=1&y#z', 'ünï©ode 🎈', '"quoted"\\', '+', '...'])(
    'the item id %j goes through every operation unchanged',
    async (itemId) => {
      const segment = encodeURIComponent(itemId);
      const created = await server.call('POST', COUNTS, { body: { itemId } });
      expect([created.status, created.json.itemId]).toEqual([201, itemId]);
      expect((await server.call('GET', created.headers.location as string)).json.itemId).toBe(itemId);
      const increased = await server.call('POST', `/api/v1/counts/${segment}/increase`, { body: { amount: 3 } });
      expect(increased.json).toEqual({ itemId, value: 3 });
      expect((await server.call('POST', `/api/v1/counts/${segment}/decrease`)).json).toEqual({ itemId, value: 2 });
      const query = new URLSearchParams({ itemIds: itemId });
      expect((await server.call('GET', `${COUNTS}?${query}`)).json).toMatchObject([{ itemId, currentValue: 2 }]);
      expect((await server.call('POST', `/api/v1/counts/${segment}/reset`)).json).toEqual({ itemId, value: 0 });
      expect((await server.call('PUT', `${COUNTS}/${segment}`, { body: { value: 9 } })).json.value).toBe(9);
      expect((await server.call('DELETE', `${COUNTS}/${segment}`)).status).toBe(204);
    },
  );

  test('an empty body, an empty object and chunked bodies are fine', async () => {
    await server.call('POST', COUNTS, { body: { itemId: 'empty' } });
    const path = '/api/v1/counts/empty/increase';
    expect((await server.call('POST', path)).json.value).toBe(1);
    expect((await server.call('POST', path, { body: {} })).json.value).toBe(2);
    const chunked = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      body: new Blob(['{"amount"', ':5}']).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(await chunked.json()).toEqual({ itemId: 'empty', value: 7 });
  });
});
