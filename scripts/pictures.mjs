/**
 * Takes the pictures of the guide, docs/images/*.png, from the demo: node scripts/pictures.mjs [CHROMIUM]
 * On a machine that does nothing else: the figures in them are real.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [executablePath = '/usr/bin/chromium'] = process.argv.slice(2);
const root = fileURLToPath(new URL('../', import.meta.url));
const WIDTH = 1200;
const WINDOW_MS = 60_000;
/** Charts need some points, a quota some takes, and a lost link some time until it is known. */
const TRAFFIC_MS = 16_000;
/** Before that, for the rates of the last ten seconds and for some minutes of keys. */
const LEAST_BEFORE_MS = 12_000;

const demo = spawn(process.execPath, [`${root}packages/cli/bin/quotadb.js`, 'demo', '--http', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({ executablePath, chromiumSandbox: false });
try {
  const base = await addressOf(demo);
  const context = await browser.newContext({ viewport: { width: WIDTH, height: 900 }, colorScheme: 'light' });
  await untilWindow();
  await Promise.all([
    take(context, `${base}dashboard/#keys?match=requests:a*&key=requests:all`, 'keys', 'Watching'),
    take(context, `${base}dashboard/#quotas?quota=emails&subject=acme`, 'quotas', 'Where the tokens of acme are'),
  ]);
  await fetch(`${base}demo/cut`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'us', to: 'ap' }),
  });
  await take(context, `${base}dashboard/`, 'demo', 'Regions');
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await once(demo, 'exit');
}

/** The page from its top to the end of this panel. */
async function take(context, address, name, lastPanel) {
  const page = await context.newPage();
  await page.goto(address);
  const panel = page.getByRole('region', { name: lastPanel, exact: true });
  await panel.waitFor();
  await wait(TRAFFIC_MS);
  const { y, height } = await panel.boundingBox();
  const clip = { x: 0, y: 0, width: WIDTH, height: Math.ceil(y + height + 16) };
  await page.screenshot({ path: `${root}docs/images/${name}.png`, fullPage: true, clip });
  await page.close();
}

async function addressOf({ stdout }) {
  for await (const line of createInterface({ input: stdout })) {
    const found = /Open (\S+) in a browser/.exec(line);
    if (found !== null) return found[1];
  }
  throw new Error('the demo did not start');
}

/** Until a minute of the quota begins. */
async function untilWindow() {
  await wait(LEAST_BEFORE_MS);
  await wait(WINDOW_MS - (Date.now() % WINDOW_MS));
}

function wait(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
