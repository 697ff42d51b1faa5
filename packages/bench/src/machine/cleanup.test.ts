import { expect, test } from 'vitest';
import { Cleanup } from './cleanup.js';

function recorder() {
  const done: string[] = [];
  const undo = (name: string) => ({
    gently: async () => void done.push(name),
    atOnce: () => void done.push(`${name} at once`),
  });
  return { done, undo };
}

test('everything is undone once, last first', async () => {
  const { done, undo } = recorder();
  const cleanup = new Cleanup();
  for (const name of ['directory', 'group', 'process']) cleanup.add(undo(name));
  await cleanup.gently();
  await cleanup.gently();
  expect(done).toEqual(['process', 'group', 'directory']);
});

test('a step that was undone earlier is not undone again', async () => {
  const { done, undo } = recorder();
  const cleanup = new Cleanup();
  const undoFirst = cleanup.add(undo('first'));
  cleanup.add(undo('second'));
  await undoFirst();
  await undoFirst();
  cleanup.atOnce();
  expect(done).toEqual(['first', 'second at once']);
});

test('a step that fails does not keep the others from being undone, and is reported', async () => {
  const { done, undo } = recorder();
  const cleanup = new Cleanup();
  cleanup.add(undo('first'));
  cleanup.add({ gently: () => Promise.reject(new Error('stuck')), atOnce: () => {} });
  await expect(cleanup.gently()).rejects.toThrow('stuck');
  expect(done).toEqual(['first']);
});
