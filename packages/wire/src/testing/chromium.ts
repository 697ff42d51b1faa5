import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describe } from 'vitest';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The machine's own browser: nothing is downloaded for the tests. */
const program = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

export function launchChromium(args: readonly string[] = []): Promise<Browser> {
  if (program === undefined) throw new Error('there is no Chromium on this machine (apt-get install chromium)');
  // As root, in a container, its sandbox cannot be had; the tests show it only our own pages.
  return chromium.launch({ executablePath: program, chromiumSandbox: false, args: [...args] });
}

/** `describe` where there is a Chromium. Elsewhere the tests are skipped and say so, except in CI, where they fail. */
export function describeWithChromium(name: string, body: () => void): void {
  if (program !== undefined || process.env.CI === 'true') describe(name, body);
  else describe.skip(`${name} (skipped: no Chromium on this machine)`, body);
}
