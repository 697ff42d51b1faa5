import { readMap, viewOf } from '@quotadb/cluster';
import { beforeEach, describe, expect, test } from 'vitest';
import { answer } from '../../questions/answers.js';
import { ClusterBoard, HELD, HERE, UNOWNED } from '../../services/cluster-board.js';
import { type AskMain, askWithoutMain } from '../../services/main-services.js';
import { ReplicationBoard } from '../../services/replication-board.js';
import { ScriptBoard } from '../../services/script-board.js';
import { TestLane, type TestSession } from '../../testing/test-lane.js';

// Slots: b 3300 and c 7365 are here; foo 12182 is of the other group.
const SLOT_OF_B = 3300;
const map = readMap(`
revision: 4
groups:
  high: { slots: 8192-16383, members: [{ region: eu, host: 10.0.0.2, port: 2 }] }
  low: { slots: 0-8191, members: [{ region: eu, host: 10.0.0.1, port: 1 }] }
`);

let owners: Uint8Array;
let waiting: { readonly slot: number; readonly answered: (isThere: boolean) => void }[];
let lane: TestLane;
let session: TestSession;

beforeEach(() => {
  const board = new ClusterBoard();
  ({ owners } = board);
  owners.set(map.owners.map((owner) => (owner === 1 ? HERE : owner === 0 ? 1 : UNOWNED)));
  const own = map.findMember('low', 'eu', '');
  if (own !== undefined) board.setView(viewOf({ map, own, isLive: () => true }));
  waiting = [];
  const askMain: AskMain = (service, request, answered) => {
    if (service === 'awaitSlot') waiting.push({ slot: request as number, answered: answered as (is: boolean) => void });
    else if (service === 'forward') (answered as (given: unknown) => void)({ reply: Buffer.from('+CARRIED\r\n') });
    else askWithoutMain(service, request, answered);
  };
  const boards = {
    replication: new ReplicationBoard(4).buffer,
    scripts: new ScriptBoard().buffer,
    cluster: board.buffer,
    ...{ disk: undefined, log: undefined, clock: undefined },
  };
  lane = new TestLane({ clusterForward: 'yes', shardCount: 4 }, [], 1, { boards, askMain });
  session = lane.open();
});

/** The slot is where it belongs; the replies of all that waited. */
function goOn(owner: number, isThere = true): string {
  owners[SLOT_OF_B] = owner;
  for (const { answered } of waiting.splice(0)) answered(isThere);
  return session.resume();
}

describe('a command on a slot that is held', () => {
  test.each([
    [['INCR', 'b'], ':1\r\n'],
    [['GET', 'b'], '$-1\r\n'],
    [['MSET', 'b', 1, 'c', 2], '+OK\r\n'],
    [['EVAL', "return redis.call('incrby', KEYS[1], 3)", 1, 'b'], ':3\r\n'],
    [['WINDOW.INCRBY', 'b', '1h', 2], expect.stringMatching(/^\*3\r\n:2\r\n/)],
    [['RATE.LIMIT', 'b', 10, '1h'], expect.stringMatching(/^\*\d\r\n/)],
  ])('waits and runs here where the slot stays: %j', (words, reply) => {
    owners[SLOT_OF_B] = HELD;
    expect(session.call(...words)).toBe('');
    expect(waiting.map(({ slot }) => slot)).toEqual([SLOT_OF_B]);
    expect(goOn(HERE)).toEqual(reply);
  });

  test('is carried where the slot has moved, or its client is sent there', () => {
    owners[SLOT_OF_B] = HELD;
    expect(session.call('INCR', 'b')).toBe('');
    goOn(1);
    expect(session.resume()).toBe('+CARRIED\r\n');
    session.call('READONLY');
    owners[SLOT_OF_B] = HELD;
    expect(session.call('INCR', 'b')).toBe('');
    expect(goOn(1)).toMatch(/^-MOVED 3300 /);
  });

  test('keeps the commands behind it waiting, and others of the lane go on', () => {
    owners[SLOT_OF_B] = HELD;
    expect(session.send('INCR b\r\nINCR c\r\n')).toBe('');
    expect(lane.open().call('INCR', 'c')).toBe(':1\r\n');
    expect(goOn(HERE)).toBe(':1\r\n:2\r\n');
  });

  test('is asked to try again where it waited too long, or too many wait', () => {
    owners[SLOT_OF_B] = HELD;
    expect(session.call('INCR', 'b')).toBe('');
    expect(session.resume()).toBe('-TRYAGAIN the slot 3300 is on its way to another group\r\n');
    expect(session.call('INCR', 'b')).toBe('');
    expect(goOn(HELD, false)).toMatch(/^-TRYAGAIN/);
    expect(goOn(HERE)).toBe('');
    expect(session.call('GET', 'b')).toBe('$-1\r\n');
  });

  test('waits at EXEC, as a whole', () => {
    expect(session.call('MULTI')).toBe('+OK\r\n');
    owners[SLOT_OF_B] = HELD;
    expect(session.call('INCR', 'b')).toBe('+QUEUED\r\n');
    expect(session.call('INCRBY', 'b', 4)).toBe('+QUEUED\r\n');
    expect(session.call('EXEC')).toBe('');
    expect(goOn(HERE)).toBe('*2\r\n:1\r\n:5\r\n');
  });

  test('has not begun: the hold waits only for commands that have, and are not answered yet', () => {
    const unsettled = () => answer(lane.lane.server, 'unsettled', null);
    owners[SLOT_OF_B] = HELD;
    expect(session.call('INCR', 'b')).toBe('');
    expect(unsettled()).toBe(0);
    goOn(HERE);
    const other = lane.open();
    // A command that began before the hold and waits.
    expect(other.call('GET', 'b')).toBe('$1\r\n1\r\n');
    other.session.suspend(1000, ({ reply }) => reply.ok());
    owners[SLOT_OF_B] = HELD;
    expect(unsettled()).toBe(1);
    expect(other.resume()).toBe('+OK\r\n');
    expect(unsettled()).toBe(0);
  });
});
