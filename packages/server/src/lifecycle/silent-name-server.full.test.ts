import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { QUOTADB_BINARY } from '../testing/index.js';

/** Only root may have a network and a resolv.conf of its own; without, this is left out, also in CI. */
const mayUnshare = (() => {
  try {
    execFileSync('unshare', ['--net', '--mount', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('no root, or no ip: the test with a silent name server is skipped\n');
    return false;
  }
})();

/** Patience that a thread has with the name server: 5 × 30 s, more than the test has. */
const RESOLV_CONF = 'nameserver 127.0.0.9\noptions timeout:30 attempts:5\n';

/** Hears questions, says so on standard output, and never answers. */
const NAME_SERVER = `require('node:dgram').createSocket('udp4').on('message', () => console.log('asked')).bind(53, '127.0.0.9')`;

test.skipIf(!mayUnshare)('a stop does not wait for a name server that does not answer, and exits with 0', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-names-'));
  const resolvConf = join(directory, 'resolv.conf');
  await writeFile(resolvConf, RESOLV_CONF);
  const script = `ip link set lo up; mount --bind ${resolvConf} /etc/resolv.conf
    "$0" -e "${NAME_SERVER}" & echo $!
    exec "$0" "$@"`;
  const flags = ['--region', 'us', '--peer', 'eu=eu.example.com:7380', '--repl-plaintext', '--max-memory', '64mb'];
  const serve = [QUOTADB_BINARY, 'serve', ...flags, '--resp', '0', '--http', '0', '--repl', '0'];
  // Both programs are executed in place: the process is the server.
  const server = spawn('unshare', ['--net', '--mount', 'bash', '-c', script, process.execPath, ...serve], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  server.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  const nameServer = Number((await lines.next()).value);
  try {
    const awaited = new Set(['asked', 'ready']);
    while (awaited.size > 0) {
      const { value, done } = await lines.next();
      if (done) expect.unreachable(`the server has ended:\n${log}`);
      awaited.delete(value === 'asked' ? 'asked' : 'ready');
    }
    const ended = once(server, 'exit', { signal: AbortSignal.timeout(40_000) });
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(log).toContain('"stopped"');
  } finally {
    server.kill('SIGKILL');
    process.kill(nameServer, 'SIGKILL');
    await rm(directory, { recursive: true });
  }
});
