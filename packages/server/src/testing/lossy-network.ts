import { spawn } from 'node:child_process';
import { TestClient } from '@quotadb/resp/testing';
import { type SpawnedServer, spawnServer } from './spawned-server.js';

/**
 * Three regions on one machine whose packets get lost. Run inside a network namespace of its own, whose loopback drops
 * packets of the replication ports: `unshare --net node lossy-network.js PERCENT ROUNDS`. Prints the result as JSON.
 */
const REPLICATION_PORTS = [7381, 7382, 7383];
const NAMES = ['us', 'eu', 'ap'];
const PATIENCE_MS = 300_000;
const USUAL_FLAGS = ['--transport', 'net', '--max-memory', '64mb', '--log-level', 'error'];

function run(program: string, ...words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    spawn(program, words, { stdio: 'inherit' }).once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${program} ${words.join(' ')} ended with ${code}`)),
    );
  });
}

async function main(percent: number, rounds: number): Promise<void> {
  await run('ip', 'link', 'set', 'lo', 'up');
  for (const direction of ['--dports', '--sports']) {
    const loss = ['-m', 'statistic', '--mode', 'random', '--probability', String(percent / 100), '-j', 'DROP'];
    const ports = ['-p', 'tcp', '-m', 'multiport', direction, REPLICATION_PORTS.join(',')];
    await run('iptables-legacy', '-A', 'INPUT', ...ports, ...loss);
  }
  const servers: SpawnedServer[] = NAMES.map((name, index) =>
    spawnServer([
      ...USUAL_FLAGS,
      ...['--region', name, '--repl', String(REPLICATION_PORTS[index])],
      ...NAMES.flatMap((other, at) =>
        other === name ? [] : ['--peer', `${other}=127.0.0.1:${REPLICATION_PORTS[at]}`],
      ),
    ]),
  );
  try {
    const clients: TestClient[] = [];
    for (const server of servers) clients.push(await TestClient.open((await server.ready()).resp));
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
    for (let round = 0; round < rounds; round++) {
      for (const client of clients) for (const key of keys) await client.call('INCR', key);
    }
    const expected = keys.map(() => `$${String(3 * rounds).length}\r\n${3 * rounds}\r\n`).join('');
    const startedAtMs = performance.now();
    for (;;) {
      const values = await Promise.all(clients.map((client) => client.call('MGET', ...keys)));
      if (values.every((value) => value.endsWith(expected))) break;
      if (performance.now() - startedAtMs > PATIENCE_MS) throw new Error(`not equal: ${JSON.stringify(values)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.stdout.write(
      `${JSON.stringify({ equal: true, milliseconds: Math.round(performance.now() - startedAtMs) })}\n`,
    );
    for (const client of clients) client.close();
  } finally {
    for (const server of servers) {
      server.child.kill('SIGKILL');
      await server.finished;
    }
  }
}

await main(Number(process.argv[2]), Number(process.argv[3]));
