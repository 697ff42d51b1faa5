import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuotaDetails } from '@quotadb/dashboard';
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

test('three regions count together through a cut and a kill, and nothing is left behind', async () => {
  // A temporary directory of its own: another demo on this machine may come and go meanwhile.
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
  process.env.TMPDIR = directory;
  const { demo, port } = await Demo.start([0]);
  try {
    const total = (name: string) => Number(demo.state().regions.find((region) => region.name === name)?.total);
    const tokensIn = async (region: string, quota: string, subject: string) => {
      const path = `/regions/${region}/api/v1/dashboard/quotas/${quota}?subject=${subject}`;
      return (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as QuotaDetails;
    };
    const post = async (what: string, body: object, headers = {}) =>
      (
        await fetch(`http://127.0.0.1:${port}/demo/${what}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        })
      ).status;
    await eventually(() => expect(total('ap')).toBeGreaterThan(50));
    // Tokens begin in one region and are spent in all: the others have been given some.
    await eventually(() => {
      for (const { calls, emails } of demo.state().regions) {
        expect(calls.allowed).toBeGreaterThan(0);
        expect(emails.allowed).toBeGreaterThan(0);
      }
    });
    const { name, subject } = demo.state().quota;
    // The emails above may have been those of other customers, or of the minute before.
    await eventually(async () => {
      const details = await tokensIn('eu', name, subject);
      expect(details.limit).toBeGreaterThan(0);
      expect(details.places.map(({ region }) => region).sort()).toEqual(['ap', 'eu', 'us']);
      expect(details.places.find(({ isOwn }) => isOwn)?.setAside).toBeGreaterThan(0);
    });
    // A limit that all regions share is used up, and no region overspends it.
    expect(await post('traffic', { requestsPerSecond: 2000 })).toBe(200);
    await eventually(() => {
      const decided = demo.state().regions;
      expect(decided.reduce((sum, { emails }) => sum + emails.denied, 0)).toBeGreaterThan(0);
      expect(decided.reduce((sum, { calls }) => sum + calls.denied, 0)).toBeGreaterThan(0);
    });
    expect(await post('traffic', { requestsPerSecond: 100 })).toBe(200);
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
    expect(await post('kill', { region: 'us' }, { 'content-type': 'text/plain' })).toBe(415);
  } finally {
    await demo.stop();
  }
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
}, 120_000);
