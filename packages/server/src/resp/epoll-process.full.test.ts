import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  describeWithEpoll,
  encodeCommand,
  eventually,
  infoNumber,
  TestClient,
  useProcesses,
} from '../testing/index.js';

/** Lanes in a process of their own: signals, descriptors, addresses, and machines without koffi. */

const WITHOUT_KOFFI = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('../../dist/testing/without-koffi.js', import.meta.url))}`,
};

const { serve } = useProcesses();

const epoll = (lanes: number) => ['--transport', 'epoll', '--lanes', String(lanes)];

describeWithEpoll('a process with lanes', () => {
  test.each([1, 4])('%i lanes: SIGTERM under load answers everything that was read and exits with 0', async (lanes) => {
    const server = serve(epoll(lanes));
    const { resp, transport, lanes: laneCount } = await server.ready();
    expect([transport, laneCount]).toEqual(['epoll', lanes]);
    const clients = await Promise.all(Array.from({ length: 20 }, () => TestClient.open(resp)));
    for (const client of clients) client.write(encodeCommand('INCR', 'a').repeat(20_000));
    const first = await clients[0].reply();
    server.child.kill('SIGTERM');
    const values = [Number(first.slice(1))];
    for (const client of clients) {
      const replies = (await client.rest()).split('\r\n');
      expect(replies.pop()).toBe('');
      values.push(...replies.map((reply) => Number(reply.slice(1))));
    }
    values.sort((a, b) => a - b);
    // No increment without its answer: the values have no gap.
    expect(values).toEqual(values.map((_, index) => index + 1));
    expect(await server.finished).toMatchObject({ code: 0, signal: null });
    const next = serve([...epoll(lanes), '--resp', String(resp)]);
    expect((await next.ready()).resp).toBe(resp);
  });

  test.each([1, 4])('%i lanes: SIGTERM during a storm of connections exits with 0', async (lanes) => {
    const server = serve(epoll(lanes));
    const { resp } = await server.ready();
    let storming = true;
    const storm = Promise.all(
      Array.from({ length: 20 }, async () => {
        while (storming) {
          const client = await TestClient.open(resp).catch(() => undefined);
          if (client === undefined) break;
          await client.call('INCR', 'a').catch(() => undefined);
          client.close();
        }
      }),
    );
    const watcher = await TestClient.open(resp);
    await eventually(async () => expect(await infoNumber(watcher, 'total_connections_received')).toBeGreaterThan(200));
    server.child.kill('SIGTERM');
    const { code, signal, stderr } = await server.finished;
    storming = false;
    await storm;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(stderr).not.toMatch(/"level":[56]0/);
  });

  test('a second signal ends it at once, though a client holds a lane up', async () => {
    const server = serve(epoll(4));
    const { resp } = await server.ready();
    const [greedy, other] = [await TestClient.open(resp), await TestClient.open(resp)];
    await other.call(
      'MSET',
      ...Array.from({ length: 20_000 }, (_, key) => [`a-rather-long-key-to-list-${key}`, 1]).flat(),
    );
    greedy.socket.pause();
    greedy.write('KEYS *\r\n'.repeat(20));
    await eventually(async () => expect(await other.call('CLIENT', 'LIST')).toMatch(/omem=[1-9]/));
    server.child.kill('SIGTERM');
    await other.closed;
    server.child.kill('SIGTERM');
    expect(await server.finished).toMatchObject({ code: 128 + 15 });
    greedy.close();
  });

  test.each(['--resp', '--http'])('a port in use is said clearly: %s', async (flag) => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr, stdout } = await serve([...epoll(2), flag, String(port)]).finished;
    expect(code).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${port} is in use by another program; choose another port with ${flag}`);
    expect(stdout).toBe('');
    taken.close();
  });

  test.each([
    ['localhost', 'localhost', /^addr=(127\.0\.0\.1|\[::1\]):\d+$/],
    ['::1', '::1', /^addr=\[::1\]:\d+$/],
    ['::', '127.0.0.1', /^addr=\[::ffff:127\.0\.0\.1\]:\d+$/],
  ])('listens on %s', async (host, address, expected) => {
    const { resp } = await serve([...epoll(2), '--host', host, '--password', 'x']).ready();
    const client = await TestClient.open(resp, address);
    expect(await client.call('AUTH', 'x')).toBe('+OK\r\n');
    expect(await client.call('INCR', 'a')).toBe(':1\r\n');
    expect(/\baddr=\S+/.exec(await client.call('CLIENT', 'INFO'))?.[0]).toMatch(expected);
    client.close();
  });

  test.each([
    ['no-such-host.invalid', 'no-such-host.invalid is no address of this machine'],
    ['192.0.2.1', '192.0.2.1 is no address of this machine'],
  ])('does not listen on %s, and says so', async (host, words) => {
    const { code, stderr } = await serve([...epoll(2), '--host', host, '--password', 'x']).finished;
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  test('without descriptors left it does not spin, serves its clients, and accepts when some are free', async () => {
    // Enough to start with: each lane opens the files of the program at the same time.
    const server = serve(epoll(2), {}, 600);
    const { resp, pid } = await server.ready();
    const watcher = await TestClient.open(resp);
    expect(await watcher.call('PING')).toBe('+PONG\r\n');
    // The system lets them connect; the server cannot take them all.
    const clients = await Promise.all(Array.from({ length: 750 }, () => TestClient.open(resp)));
    let served = 0;
    for (const client of clients) {
      void client.call('PING').then(
        () => served++,
        () => {},
      );
    }
    const accepted = async () => infoNumber(watcher, 'connected_clients');
    await eventually(async () => expect(await accepted()).toBeGreaterThan(20));
    await eventually(async () => expect(served).toBe((await accepted()) - 1));
    expect(served).toBeLessThan(clients.length);
    const before = processorSeconds(pid);
    await watcher.call('DEBUG', 'SLEEP', '1');
    // A loop that spins takes a second of processor time a second; this one has ten looks to take.
    expect(processorSeconds(pid) - before).toBeLessThan(0.5);
    expect(await watcher.call('INCR', 'a')).toBe(':1\r\n');
    const whenFull = served;
    for (const client of clients.slice(0, 60)) client.close();
    await eventually(() => expect(served).toBeGreaterThan(whenFull + 10));
    for (const client of clients) client.close();
    await eventually(async () => expect(await accepted()).toBe(1));
    const last = await TestClient.open(resp);
    expect(await last.call('PING')).toBe('+PONG\r\n');
    expect((await server.stop()).stderr).toContain('this process has no descriptors left');
  });
});

describe('a machine without koffi', () => {
  test('auto falls back to node:net and says so', async () => {
    const server = serve(['--transport', 'auto', '--lanes', '2'], WITHOUT_KOFFI);
    expect(await server.ready()).toMatchObject({ transport: 'net', lanes: 1 });
    const { stderr } = await server.stop();
    expect(stderr).toContain('serving over node:net: the optional dependency koffi is not installed for this machine');
    expect(stderr).toContain('--lanes is ignored');
  });

  test('epoll is refused clearly', async () => {
    const { code, stderr, stdout } = await serve(['--transport', 'epoll'], WITHOUT_KOFFI).finished;
    expect(code).toBe(1);
    expect(stderr).toContain('could not start: the optional dependency koffi is not installed for this machine');
    expect(stdout).toBe('');
  });
});

/** Processor time that a process has taken, user and system. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
