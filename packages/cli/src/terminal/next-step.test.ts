import { execFileSync } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { commandLine } from './next-step.js';

afterEach(() => vi.unstubAllEnvs());

test('a shell reads the words of a printed command as they are', () => {
  vi.stubEnv('npm_lifecycle_event', 'test');
  const words = ['serve', '--data', "/tmp/it's here/$HOME", 'a b', ''];
  const script = `quotadb() { printf '%s\\n' "$@"; }; ${commandLine(...words)}`;
  expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`${words.join('\n')}\n`);
});

test('where the program was run by npx, so is the next command', () => {
  vi.stubEnv('npm_lifecycle_event', 'npx');
  expect(commandLine('serve')).toBe('npx quotadb serve');
});
