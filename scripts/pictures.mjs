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
/** Less than the space between two panels. */
const BELOW = 10;
/** Charts need some points, and a quota some takes, of which half a minute has enough. */
const TRAFFIC_MS = 16_000;

const demo = spawn(process.execPath, [`${root}packages/cli/bin/quotadb.js`, 'demo', '--http', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({ executablePath, chromiumSandbox: false });
try {
  const base = await addressOf(demo);
  const context = await browser.newContext({ viewport: { width: WIDTH, height: 900 }, colorScheme: 'light' });
  await take(
    context,
    `${base}dashboard/#keys?match=requests:a*&key=requests:all`,
    'keys',
    /Find a key|Watching/,
    TRAFFIC_MS,
  );
  await setLink(base, 'cut');
  await untilWindow();
  await take(context, `${base}dashboard/`, 'demo', /^Where the emails/, TRAFFIC_MS);
  await setLink(base, 'heal');
  const quota = `${base}dashboard/#quotas?quota=emails&subject=acme`;
  await take(context, quota, 'quotas', /^Where the tokens/, TRAFFIC_MS / 2);
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await once(demo, 'exit');
}

/** The page from its top to the end of these panels. One page at a time: a hidden one does not watch. */
async function take(context, address, name, panels, afterMs) {
  const page = await context.newPage();
  await page.goto(address);
  await wait(afterMs);
  const found = await page.getByRole('region', { name: panels }).all();
  const boxes = await Promise.all(found.map((panel) => panel.boundingBox()));
  const end = Math.max(...boxes.map(({ y, height }) => y + height));
  const clip = { x: 0, y: 0, width: WIDTH, height: Math.ceil(end + BELOW) };
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

function setLink(base, action) {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${base}demo/${action}`, { method: 'POST', headers, body: JSON.stringify({ from: 'us', to: 'ap' }) });
}

/** Until a minute of the quota begins. */
function untilWindow() {
  return wait(WINDOW_MS - (Date.now() % WINDOW_MS));
}

function wait(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
