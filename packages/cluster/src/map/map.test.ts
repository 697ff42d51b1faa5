import { DocumentError, printMistakes } from '@quotadb/wire/documents';
import { describe, expect, test } from 'vitest';
import { slotOfText } from '../slots/key-slot.js';
import { findRevisionFault, slotsLost } from './compare.js';
import { readMap } from './read-map.js';

const WHOLE = `
revision: 3
groups:
  red:
    slots: 0-8191
    members:
      - { region: eu, member: one, host: 10.0.0.1, port: 6380 }
      - { region: eu, member: two, host: 10.0.0.2, port: 6380, tlsPort: 6381 }
      - { region: us, host: us.example, tlsPort: 6381 }
  blue:
    slots: [8192-12000, 12001, "12002-16383"]
    members:
      - { region: eu, host: 10.0.0.3, port: 6380 }
`;

function mistakesOf(text: string): string[] {
  try {
    readMap(text);
    return [];
  } catch (error) {
    if (error instanceof DocumentError) return printMistakes(error.mistakes);
    throw error;
  }
}

describe('a cluster map', () => {
  test('gives every slot its group, and a group its members', () => {
    const map = readMap(WHOLE);
    expect(map.revision).toBe(3);
    expect(map.groups.map(({ name, slots }) => [name, slots])).toEqual([
      ['blue', [{ first: 8192, last: 16383 }]],
      ['red', [{ first: 0, last: 8191 }]],
    ]);
    expect(map.groupOf(slotOfText('b'))?.name).toBe('red');
    expect(map.groupOf(slotOfText('foo'))?.name).toBe('blue');
    expect(map.findMember('red', 'eu', 'two')).toEqual({
      ...{ group: 'red', region: 'eu', name: 'two', host: '10.0.0.2', port: 6380, tlsPort: 6381 },
    });
    expect(map.findMember('red', 'us', '')?.port).toBeUndefined();
    expect(map.findMember('red', 'us', 'two')).toBeUndefined();
  });

  test('is the same as JSON', () => {
    const json = { revision: 1, groups: { a: { slots: [5], members: [{ region: 'eu', host: 'h', port: 1 }] } } };
    expect(readMap(JSON.stringify(json)).groupOf(5)?.name).toBe('a');
    expect(readMap(JSON.stringify(json)).groupOf(6)).toBeUndefined();
  });

  test('tells all mistakes of its form at once, with their lines', () => {
    const text = `revision: 0
groups:
  Red:
    slots: 0-100
    members: [{ region: eu, host: h, port: 1 }]
  blue:
    slots: [true]
    members:
      - { region: eu, host: "a b", port: 70000, colour: red }
`;
    expect(mistakesOf(text)).toEqual([
      'line 1, revision: the revision is a whole number from 1 on, not 0',
      expect.stringMatching(/^line 3, groups\.Red: /),
      expect.stringMatching(/^line 7, groups\.blue\.slots.*such as 0-8191/),
      "line 9, groups.blue.members[0].host: a host is a name or an IP address, without a port, not 'a b'",
      'line 9, groups.blue.members[0].port: a port is a whole number from 1 to 65535, not 70000',
      "line 9, groups.blue.members[0].colour: 'colour' is no field of it",
    ]);
  });

  test('tells all mistakes between groups at once, with their lines', () => {
    const text = `revision: 1
groups:
  a:
    slots: [0-100, 90-17000]
    members:
      - { region: eu, host: h, port: 1 }
      - { region: eu, host: h, port: 2 }
  b:
    slots: [50-60, 101]
    members:
      - { region: eu, host: h, port: 1 }
      - { region: us, host: i }
`;
    expect(mistakesOf(text)).toEqual([
      "line 4, groups.a.slots[1]: slots are numbers and ranges from 0 to 16383, such as 0-8191, not '90-17000'",
      "line 7, groups.a.members[1]: the group has two members '' in 'eu': give each a name, as in member: two",
      "line 9, groups.b.slots[0]: slots 50-60 are given twice: 'a' has them too",
      "line 11, groups.b.members[0].port: h:1 is the address of a member of 'a' too",
      'line 12, groups.b.members[1]: a member needs a port, a tlsPort, or both',
    ]);
  });

  test.each(['', '[]', 'x', 'revision: 1', 'revision: 1\ngroups: {}', '{"revision": 1', 'a: *b'])(
    '%j is refused with a reason',
    (text) => {
      expect(mistakesOf(text)).not.toEqual([]);
    },
  );
});

describe('another revision', () => {
  const of = (revision: number, a: string, b: string) =>
    readMap(
      JSON.stringify({
        revision,
        groups: {
          a: { slots: a, members: [{ region: 'eu', host: 'h', port: 1 }] },
          b: { slots: b, members: [{ region: 'eu', host: 'h', port: 2 }] },
        },
      }),
    );

  test('takes the place of an older one only', () => {
    expect(findRevisionFault(of(1, '0', '1'), of(2, '0', '1'))).toBeUndefined();
    expect(findRevisionFault(of(2, '0', '1'), of(2, '1', '0'))).toMatch(/give it the revision 3/);
    expect(findRevisionFault(of(2, '0', '1'), of(1, '1', '0'))).toMatch(/older/);
  });

  test('shows which slots a group loses', () => {
    const [before, after] = [of(1, '0-9', '10-19'), of(2, '0-4,15', '5-14')];
    expect(slotsLost('a', before, after)).toEqual([{ first: 5, last: 9 }]);
    expect(slotsLost('b', before, after)).toEqual([{ first: 15, last: 19 }]);
    expect(slotsLost('c', before, after)).toEqual([]);
  });
});
