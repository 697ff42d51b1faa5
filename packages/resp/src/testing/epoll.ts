import { describe } from 'vitest';

const found = process.platform === 'linux' && (await import('koffi').then(Boolean, () => false));

/** `describe` where epoll can be used. Elsewhere the tests are skipped and say so, except in CI, where they fail. */
export function describeWithEpoll(title: string, body: () => void): void {
  if (found || process.env.CI === 'true') describe(title, body);
  else describe.skip(`${title} (skipped: no koffi or no Linux)`, body);
}
