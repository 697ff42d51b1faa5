import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { defaultConfiguration } from '@quotadb/config';
import { Engine, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { NO_POLICIES } from '../services/lane-quotas.js';
import { noServices } from '../services/main-services.js';
import { ReplicationBoard } from '../services/replication-board.js';
import { ScriptBoard } from '../services/script-board.js';
import { describeWithEpoll, TestClient } from '../testing/index.js';
import { systemClock } from '../time/clock.js';
import { loadLibc } from '../transport/epoll/libc.js';
import { createState } from './create-state.js';
import { EpollLanes, type EpollLanesOptions } from './epoll-lanes.js';
import { SharedControl } from './shared-control.js';

async function optionsFor(laneCount: number): Promise<EpollLanesOptions> {
  const config = defaultConfiguration();
  const origin = new Uint8Array(ORIGIN_ID_BYTES).fill(1);
  const main = createState(config, systemClock);
  const engine = Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    shared: true,
    origin,
    nowMs: Date.now(),
  });
  return {
    libc: await loadLibc(),
    laneCount,
    control: SharedControl.create(laneCount),
    engine,
    config,
    main,
    identity: main.identity,
    maximumBulkBytes: 1024 * 1024,
    services: noServices,
    boards: {
      replication: new ReplicationBoard(config.shardCount).buffer,
      disk: undefined,
      log: undefined,
      clock: undefined,
      cluster: undefined,
      scripts: new ScriptBoard().buffer,
    },
    policies: () => NO_POLICIES,
    reportFault: ({ error }) => {
      throw new Error(error);
    },
    warn: () => {},
    logScript: () => {},
    laneDied: (error) => {
      throw error;
    },
  };
}

/** The epoll set that the socket listening on this port is in. */
function epollSetWatching(port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inode = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .find(([, local, , state]) => local?.endsWith(suffix) && state === '0A')?.[9];
  const targets = new Map<number, string>();
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      targets.set(Number(name), readlinkSync(`/proc/self/fd/${name}`));
    } catch {
      // Closed since it was listed.
    }
  }
  for (const [fd, target] of targets) {
    if (target !== 'anon_inode:[eventpoll]') continue;
    const watched = [...readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1').matchAll(/^tfd:\s+(\d+)/gm)];
    if (watched.some(([, watchedFd]) => targets.get(Number(watchedFd)) === `socket:[${inode}]`)) return fd;
  }
  throw new Error(`no epoll set watches port ${port}`);
}

describeWithEpoll('threads that fail', () => {
  test('a lane that cannot start makes the start fail, with the reason', async () => {
    const options = await optionsFor(3);
    // Not a store: no lane can use it.
    const unusable = Object.create(options.engine, { buffer: { value: new SharedArrayBuffer(4096) } }) as Engine;
    const lanes = new EpollLanes({ ...options, engine: unusable });
    await expect(lanes.listen('127.0.0.1', 0)).rejects.toThrow(/^lane \d did not start: ./);
    await lanes.close(0);
  });

  test('a lane that dies is reported, and the others can still be stopped', async () => {
    const options = await optionsFor(2);
    let report: (error: unknown) => void = () => {};
    const died = new Promise<unknown>((resolve) => {
      report = resolve;
    });
    const lanes = new EpollLanes({ ...options, laneDied: report });
    const port = await lanes.listen('127.0.0.1', 0);
    const client = await TestClient.open(port);
    expect(await client.call('INCR', 'a')).toBe(':1\r\n');
    // Nothing that a client could do: the first lane's epoll set is taken away from it.
    options.libc.close(epollSetWatching(port));
    expect(String(await died)).toContain('epoll_wait');
    await lanes.close(100);
    client.close();
  });

  test('lanes can be closed at any time: before they listen, twice, and while they start', async () => {
    const options = await optionsFor(4);
    const idle = new EpollLanes(options);
    await idle.close(0);
    const lanes = new EpollLanes(await optionsFor(4));
    const listening = lanes.listen('127.0.0.1', 0).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    await lanes.close(0);
    await lanes.close(0);
    await listening;
  });
});
