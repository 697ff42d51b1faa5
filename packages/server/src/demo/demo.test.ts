import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { Demo } from './demo.js';

async function eventually(check: () => Promise<void> | void): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const leftovers = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('quotadb-demo-'));

test('three regions count together through a cut and a kill, and nothing is left behind', async () => {
  const before = await leftovers();
  const { demo, port } = await Demo.start(0);
  try {
    const total = (name: string) => Number(demo.state().regions.find((region) => region.name === name)?.total);
    const post = async (what: string, body: object, headers = {}) =>
      (
        await fetch(`http://127.0.0.1:${port}/demo/${what}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        })
      ).status;
    await eventually(() => expect(total('ap')).toBeGreaterThan(50));
    expect(await post('cut', { from: 'us', to: 'eu' })).toBe(200);
    expect(await post('kill', { region: 'ap' })).toBe(200);
    expect(demo.state().regions.map(({ isRunning }) => isRunning)).toEqual([true, true, false]);
    expect(await post('start', { region: 'ap' })).toBe(200);
    expect(await post('heal', { from: 'us', to: 'eu' })).toBe(200);
    expect(await post('traffic', { requestsPerSecond: 0 })).toBe(200);
    await eventually(() => {
      const totals = new Set(['us', 'eu', 'ap'].map(total));
      expect([...totals]).toHaveLength(1);
      expect([...totals][0]).toBeGreaterThan(50);
    });
    expect(await post('kill', { region: 'mars' })).toBe(400);
    expect(await post('traffic', { requestsPerSecond: 1e9 })).toBe(400);
    expect(await post('kill', { region: 'us' }, { origin: 'http://evil.example' })).toBe(403);
    expect(await post('kill', { region: 'us' }, { 'content-type': 'text/plain' })).toBe(403);
  } finally {
    await demo.stop();
  }
  expect(await leftovers()).toEqual(before);
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
}, 120_000);
