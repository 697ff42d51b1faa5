import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryRepository } from '../../adapters/memory/memory-repository.js';
import { INT64_MAX, INT64_MIN } from '../int64.js';
import type { ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { externalCountUpdateApi, internalCountValueApi } from './use-cases.js';

/** The domain, through its inbound ports. */
describe('use cases', () => {
  let external: ExternalCountUpdateApi;
  let internal: InternalCountValueApi;
  const now = new Date('2026-01-02T03:04:05.678Z');

  beforeEach(() => {
    const repository = new MemoryRepository(() => now);
    external = externalCountUpdateApi(repository);
    internal = internalCountValueApi(repository);
  });

  test('a count exists from Initialize to Delete', async () => {
    expect(await internal.initialize('item', 5n)).toEqual({ itemId: 'item', currentValue: 5n, lastUpdatedAt: now });
    expect(await external.increase('item', 3n)).toEqual({ itemId: 'item', value: 8n });
    expect(await external.decrease('item', 10n)).toEqual({ itemId: 'item', value: -2n });
    expect(await internal.update('item', 77n)).toEqual({ itemId: 'item', value: 77n });
    expect((await internal.get('item')).currentValue).toBe(77n);
    expect(await external.reset('item')).toEqual({ itemId: 'item', value: 0n });
    await internal.delete('item');
    await expect(internal.get('item')).rejects.toMatchObject({ code: 'count_not_found' });
  });

  test('a count that exists is not initialized again', async () => {
    await internal.initialize('item', 5n);
    await expect(internal.initialize('item', 6n)).rejects.toMatchObject({ code: 'count_exists' });
    expect((await internal.get('item')).currentValue).toBe(5n);
  });

  test('List gives the counts of a beginning in the order of their bytes, page by page', async () => {
    for (const itemId of ['b', 'a:2', 'a:10', 'ä', 'a:1']) await internal.initialize(itemId, 1n);
    const names = async (prefix: string, after: string, most: number) =>
      (await internal.list(prefix, after, most)).map(({ itemId }) => itemId);
    expect(await names('', '', 9)).toEqual(['a:1', 'a:10', 'a:2', 'b', 'ä']);
    expect(await names('a:', '', 2)).toEqual(['a:1', 'a:10']);
    expect(await names('a:', 'a:10', 2)).toEqual(['a:2']);
    expect(await names('c', '', 2)).toEqual([]);
  });

  test('GetMany gives each count once, in the order asked, and leaves out unknown ids', async () => {
    await internal.initialize('one', 1n);
    await internal.initialize('two', 2n);
    const counts = await internal.getMany(['two', 'nobody', 'one', 'two']);
    expect(counts.map(({ itemId }) => itemId)).toEqual(['two', 'one']);
  });

  test('every change of a count that does not exist says so', async () => {
    for (const change of [
      external.increase('nobody', 1n),
      external.decrease('nobody', 1n),
      external.reset('nobody'),
      internal.update('nobody', 1n),
      internal.delete('nobody'),
    ]) {
      await expect(change).rejects.toMatchObject({ code: 'count_not_found' });
    }
  });

  test('a change that would leave the 64-bit range has no effect', async () => {
    await internal.initialize('high', INT64_MAX - 1n);
    await internal.initialize('low', INT64_MIN + 1n);
    await expect(external.increase('high', 2n)).rejects.toMatchObject({ code: 'value_out_of_range' });
    await expect(external.decrease('low', 2n)).rejects.toMatchObject({ code: 'value_out_of_range' });
    expect((await external.increase('high', 1n)).value).toBe(INT64_MAX);
    expect((await external.decrease('low', 1n)).value).toBe(INT64_MIN);
  });

  test('amounts and values outside their range are refused', async () => {
    await internal.initialize('item', 0n);
    await expect(external.increase('item', -1n)).rejects.toMatchObject({ code: 'invalid_amount' });
    await expect(external.decrease('item', INT64_MAX + 1n)).rejects.toMatchObject({ code: 'invalid_amount' });
    await expect(internal.update('item', INT64_MIN - 1n)).rejects.toMatchObject({ code: 'invalid_value' });
    await expect(internal.initialize('other', INT64_MAX + 1n)).rejects.toMatchObject({ code: 'invalid_value' });
  });

  test.each(['', '.', '..', 'a\u0000b', 'tab\there', 'x'.repeat(256), '\ud800'])(
    'the item id %j is refused',
    async (itemId) => {
      await expect(internal.initialize(itemId, 0n)).rejects.toMatchObject({ code: 'invalid_item_id' });
    },
  );

  test.each(['a', '...', 'a/b', 'ünï©ode 🎈', 'x'.repeat(255)])('the item id %j is fine', async (itemId) => {
    expect((await internal.initialize(itemId, 0n)).itemId).toBe(itemId);
  });

  test('a request repeated with its key happens once, and a key reused for another request is an error', async () => {
    await internal.initialize('item', 0n);
    expect((await external.increase('item', 5n, 'key')).value).toBe(5n);
    await external.increase('item', 1n);
    expect((await external.increase('item', 5n, 'key')).value).toBe(5n);
    expect((await internal.get('item')).currentValue).toBe(6n);
    await expect(external.increase('item', 6n, 'key')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await expect(external.decrease('item', 5n, 'key')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });
});
