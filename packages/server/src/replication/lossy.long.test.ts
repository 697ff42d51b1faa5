import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The file that `npm run build` made: it runs in a process and a network of its own. */
const DRIVER = fileURLToPath(new URL('../../dist/testing/lossy-network.js', import.meta.url));

/** Only root may make a network, and iptables is a package of its own; without either this is left out, also in CI. */
const canLosePackets = (() => {
  try {
    const rule = 'iptables-legacy -A INPUT -m statistic --mode random --probability 0.5 -j DROP';
    execFileSync('unshare', ['--net', 'bash', '-c', rule], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('no root, or no iptables: tests with lost packets are skipped\n');
    return false;
  }
})();

test.skipIf(!canLosePackets).each([1, 5, 20])(
  'with %i of a hundred packets lost every increment arrives in every region, once',
  async (percent) => {
    const child = spawn('unshare', ['--net', process.execPath, DRIVER, String(percent), '50']);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, 'close');
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('"equal":true') });
  },
);
