import { describe, expect, test } from 'vitest';
import type { Member } from '../map/cluster-map.js';
import { readMap } from '../map/read-map.js';
import { printRange } from '../slots/slot-range.js';
import { viewOf } from './cluster-view.js';
import { nodeIdOf } from './node-id.js';
import { infoLines, portFor, printNodes } from './print-view.js';

const map = readMap(`
revision: 7
groups:
  a:
    slots: 0-9999
    members:
      - { region: eu, member: one, host: 10.0.0.1, port: 1, tlsPort: 11 }
      - { region: eu, member: two, host: 10.0.0.2, port: 2 }
      - { region: us, host: 10.1.0.1, port: 1 }
  b:
    slots: 10000-16383
    members:
      - { region: us, host: 10.1.0.2, port: 3 }
`);
const own = map.findMember('a', 'eu', 'one') as Member;

function seenWith(...dead: string[]): string[] {
  const view = viewOf({ map, own, isLive: ({ host }) => !dead.includes(host) });
  return view.nodes.map(({ host, slots, isLive }) => `${host} ${isLive} ${slots.map(printRange)}`);
}

describe('what clients of a region see', () => {
  test('is their own region: the slots of a group are divided among its members there', () => {
    expect(seenWith()).toEqual(['10.0.0.1 true 0-4999', '10.0.0.2 true 5000-9999', '10.1.0.2 true 10000-16383']);
  });

  test('is another member in the place of one that is not reachable', () => {
    expect(seenWith('10.0.0.2').slice(0, 2)).toEqual(['10.0.0.1 true 0-9999', '10.0.0.2 false ']);
  });

  test('is other regions where the own one has nobody left', () => {
    expect(seenWith('10.0.0.1', '10.0.0.2').slice(0, 3)).toEqual([
      '10.0.0.1 false ',
      '10.0.0.2 false ',
      '10.1.0.1 true 0-9999',
    ]);
    expect(seenWith('10.1.0.2').at(-1)).toBe('10.1.0.2 false 10000-16383');
  });

  test('is printed as CLUSTER NODES has it', () => {
    const view = viewOf({ map, own, isLive: ({ host }) => host !== '10.0.0.2' });
    expect(printNodes(view, false, 5).split('\n')).toEqual([
      `${nodeIdOf(own)} 10.0.0.1:1@0 myself,master - 0 0 7 connected 0-9999`,
      expect.stringMatching(/^[0-9a-f]{40} 10\.0\.0\.2:2@0 master,fail - 0 5 7 disconnected$/),
      expect.stringMatching(/^[0-9a-f]{40} 10\.1\.0\.2:3@0 master - 0 5 7 connected 10000-16383$/),
      '',
    ]);
    expect(Object.fromEntries(infoLines(view))).toMatchObject({
      cluster_slots_assigned: 16384,
      cluster_known_nodes: 3,
      cluster_size: 2,
      cluster_current_epoch: 7,
    });
  });

  test('has the ports of TLS for those who came over TLS', () => {
    const [one, two] = viewOf({ map, own, isLive: () => true }).nodes;
    expect([portFor(one, false), portFor(one, true), portFor(two, true)]).toEqual([1, 11, 2]);
  });
});
