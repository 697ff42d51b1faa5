import { readMap, slotOfText, viewOf } from '@quotadb/cluster';
import { beforeEach, describe, expect, test } from 'vitest';
import { ClusterBoard, HERE, UNOWNED } from '../../services/cluster-board.js';
import type { ForwardRequest } from '../../services/lane-cluster.js';
import { type AskMain, askWithoutMain } from '../../services/main-services.js';
import { ReplicationBoard } from '../../services/replication-board.js';
import { ScriptBoard } from '../../services/script-board.js';
import { TestLane, type TestSession } from '../../testing/test-lane.js';

// Slots: a 15495, b 3300, c 7365, foo 12182.
const map = readMap(`
revision: 4
groups:
  high:
    slots: 8192-16000
    members: [{ region: eu, host: 10.0.0.2, port: 2 }]
  low:
    slots: 0-8191
    members: [{ region: eu, host: 10.0.0.1, port: 1 }]
`);

const carried: string[][] = [];
let answer: (request: ForwardRequest) => string;

function clusterLane(clusterForward: 'yes' | 'no' = 'yes'): TestLane {
  const board = new ClusterBoard();
  board.owners.set(map.owners.map((owner) => (owner === 1 ? HERE : owner === 0 ? 1 : UNOWNED)));
  const own = map.findMember('low', 'eu', '');
  if (own !== undefined) board.setView(viewOf({ map, own, isLive: () => true }));
  const boards = {
    replication: new ReplicationBoard(4).buffer,
    scripts: new ScriptBoard().buffer,
    cluster: board.buffer,
    ...{ disk: undefined, log: undefined, clock: undefined },
  };
  const askMain: AskMain = (service, request, answered) => {
    if (service !== 'forward') return askWithoutMain(service, request, answered);
    const forwarded = request as ForwardRequest;
    carried.push(forwarded.words.map((word) => Buffer.from(word).toString()));
    const text = answer(forwarded);
    const reply = text.startsWith('-') ? { error: text.slice(1, -2) } : { reply: Buffer.from(text) };
    (answered as (answer: unknown) => void)(reply);
  };
  return new TestLane({ clusterForward, shardCount: 4 }, [], 1, { boards, askMain });
}

let lane: TestLane;
let session: TestSession;

beforeEach(() => {
  carried.length = 0;
  answer = () => '+CARRIED\r\n';
  lane = clusterLane();
  session = lane.open();
});

const LUA_SET = "return redis.call('incr', ARGV[1])";

describe('a client that knows of slots', () => {
  beforeEach(() => {
    session.call('READONLY');
  });

  test('counts in the slots of this group', () => {
    expect(session.call('INCR', 'b')).toBe(':1\r\n');
    expect(session.call('MGET', 'b', '{b}2')).toBe('*2\r\n$1\r\n1\r\n$-1\r\n');
  });

  test('is sent to the owner of a slot', () => {
    expect(session.call('INCR', 'foo')).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(session.call('EVAL', LUA_SET, 1, 'foo', 'foo')).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(session.call('QUOTA.TAKE', 'calls', 'foo', 1)).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(session.call('LIMIT.CHECK', 'calls', 'foo')).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(session.call('RATE.LIMIT', 'foo', 10, 1000)).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(session.call('WINDOW.INCRBY', 'foo', 1000, 1)).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(carried).toEqual([]);
  });

  test('is refused keys of several slots, and slots of nobody', () => {
    expect(session.call('MGET', 'b', 'c')).toMatch(/^-CROSSSLOT/);
    expect(session.call('RATE.LIMITALL', 1, 'b', 10, 1000, 'c', 10, 1000)).toMatch(/^-CROSSSLOT/);
    expect(session.call('QUOTA.TAKEALL', 2, 'calls', 'b', 1, 'calls', 'c', 1)).toMatch(/^-CROSSSLOT/);
    expect(slotOfText('zz')).toBeLessThan(16000);
    const unowned = Array.from({ length: 1000 }, (_, at) => `k${at}`).find((key) => slotOfText(key) > 16000) as string;
    expect(session.call('GET', unowned)).toBe('-CLUSTERDOWN Hash slot not served\r\n');
  });

  test('has a transaction in one slot: another breaks it, and EXEC over several ends it', () => {
    session.call('MULTI');
    expect(session.call('INCR', 'foo')).toMatch(/^-MOVED/);
    expect(session.call('EXEC')).toMatch(/^-EXECABORT/);
    session.call('MULTI');
    session.call('INCR', 'b');
    session.call('INCR', 'c');
    expect(session.call('EXEC')).toMatch(/^-CROSSSLOT/);
    expect(session.call('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
    expect(session.call('MGET', 'b')).toBe('*1\r\n$-1\r\n');
    session.call('MULTI');
    session.call('INCR', 'b');
    session.call('INCR', '{b}2');
    expect(session.call('EXEC')).toBe('*2\r\n:1\r\n:1\r\n');
  });

  test('gets no key of another group through a script', () => {
    expect(session.call('EVAL', LUA_SET, 1, 'b', 'b')).toBe(':1\r\n');
    expect(session.call('EVAL', LUA_SET, 1, 'b', 'foo')).toMatch(/^-ERR Script attempted to access a non local key/);
    expect(session.call('EVAL', LUA_SET, 0, 'foo')).toMatch(/^-ERR Script attempted to access a non local key/);
  });

  test('is one again after RESET', () => {
    session.call('RESET');
    expect(session.call('INCR', 'foo')).toBe('+CARRIED\r\n');
  });
});

describe('a client that does not', () => {
  test('has its commands carried to the owner, with all their words', () => {
    expect(session.call('INCRBY', 'foo', 5)).toBe('+CARRIED\r\n');
    expect(session.call('INCR', 'b')).toBe(':1\r\n');
    expect(carried).toEqual([['INCRBY', 'foo', '5']]);
  });

  test('gets the error of the owner', () => {
    answer = () => '-ERR no\r\n';
    expect(session.call('INCR', 'foo')).toBe('-ERR no\r\n');
  });

  test('gets the values of MGET in its order, from wherever they are', () => {
    session.call('SET', 'b', 2);
    answer = ({ words }) => `*${words.length - 1}\r\n${'$3\r\n\r\n2\r\n'.repeat(words.length - 1)}`;
    expect(session.call('MGET', 'a', 'b', 'foo', 'c')).toBe('*4\r\n$3\r\n\r\n2\r\n$1\r\n2\r\n$3\r\n\r\n2\r\n$-1\r\n');
    expect(carried).toEqual([['MGET', 'a', 'foo']]);
  });

  test('gets the sum of DEL, EXISTS, TOUCH and UNLINK, and the status of MSET', () => {
    answer = () => '+OK\r\n';
    expect(session.call('MSET', 'a', 1, 'b', 2, 'foo', 3)).toBe('+OK\r\n');
    expect(carried).toEqual([['MSET', 'a', '1', 'foo', '3']]);
    answer = () => ':2\r\n';
    for (const command of ['EXISTS', 'TOUCH', 'UNLINK']) expect(session.call(command, 'a', 'b', 'foo')).toBe(':3\r\n');
    expect(session.call('DEL', 'a', 'b', 'foo')).toBe(':2\r\n');
  });

  test('gets the error of a part that failed', () => {
    answer = () => '-OOM no\r\n';
    expect(session.call('MSET', 'a', 1, 'b', 2)).toBe('-OOM no\r\n');
    expect(session.call('GET', 'b')).toBe('$1\r\n2\r\n');
    expect(session.call('MSET', 'a', 1, 'b', 'x')).toMatch(/^-NOTINTEGER/);
  });

  test('may use keys of several slots of one group where the command is split, and of one slot where not', () => {
    expect(session.call('MSET', 'b', 1, 'c', 2)).toBe('+OK\r\n');
    expect(session.call('MSETNX', 'b', 1, 'c', 2)).toMatch(/^-CROSSSLOT/);
    expect(session.call('RENAME', 'b', 'c')).toMatch(/^-CROSSSLOT/);
    expect(carried).toEqual([]);
  });

  test('is told where a key is inside MULTI, where nothing is carried', () => {
    session.call('MULTI');
    expect(session.call('INCR', 'foo')).toMatch(/^-MOVED/);
    expect(session.call('EXEC')).toMatch(/^-EXECABORT/);
  });

  test('is redirected where nothing is carried', () => {
    const other = clusterLane('no').open();
    expect(other.call('INCR', 'foo')).toBe('-MOVED 12182 10.0.0.2:2\r\n');
    expect(other.call('MGET', 'b', 'c')).toMatch(/^-CROSSSLOT/);
  });

  test('needs the permissions of the command here, before it is carried', () => {
    const reader = { name: 'reader', roles: ['read'] as const, prefixes: ['f'], passwords: ['unused'], tokens: [] };
    lane.lane.server.config.users = new Map([['reader', reader]]);
    lane.lane.server.access.refresh();
    session.client.become(lane.lane.server.access.find('reader'));
    expect(session.call('INCR', 'foo')).toMatch(/^-NOPERM/);
    expect(session.call('GET', 'a')).toMatch(/^-NOPERM .* keys/);
    expect(session.call('GET', 'foo')).toBe('+CARRIED\r\n');
  });
});

test('another node has its commands run here or sent back, never carried on', () => {
  session.call('CLUSTER', 'CARRY');
  expect(session.call('MSET', 'b', 1, 'c', 2)).toBe('+OK\r\n');
  expect(session.call('INCR', 'foo')).toMatch(/^-MOVED/);
  expect(session.call('MGET', 'b', 'foo')).toMatch(/^-CROSSSLOT/);
  expect(carried).toEqual([]);
});

describe('CLUSTER', () => {
  test('counts and lists the keys of a slot', () => {
    for (const key of ['b', '{b}1', '{b}2', 'c']) session.call('INCR', key);
    session.call('WINDOW.INCRBY', 'b', 60_000, 1);
    expect(session.call('CLUSTER', 'COUNTKEYSINSLOT', 3300)).toBe(':3\r\n');
    expect(session.call('CLUSTER', 'GETKEYSINSLOT', 3300, 2)).toMatch(/^\*2\r\n/);
    expect(session.call('CLUSTER', 'GETKEYSINSLOT', 7365, 10)).toBe('*1\r\n$1\r\nc\r\n');
  });

  test('leaves changes to the map', () => {
    expect(session.call('CLUSTER', 'MEET', '10.0.0.9', 1)).toMatch(/^-NOTSUPPORTED the cluster map says/);
    expect(session.call('CLUSTER', 'FAILOVER')).toMatch(/^-NOTSUPPORTED/);
  });

  test('is refused without a map as by a Redis without cluster mode', () => {
    const plain = new TestLane().open();
    for (const line of ['CLUSTER SLOTS', 'CLUSTER HELP', 'CLUSTER CARRY', 'READONLY', 'ASKING'])
      expect(plain.send(`${line}\r\n`)).toBe('-ERR This instance has cluster support disabled\r\n');
    expect(plain.call('INCR', 'foo')).toBe(':1\r\n');
    expect(plain.call('MGET', 'a', 'b')).toBe('*2\r\n$-1\r\n$-1\r\n');
  });
});
