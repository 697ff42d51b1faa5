import { ReplyReader } from '@quotadb/client/resp';
import { TestLane } from '@quotadb/server/testing';
import { describe, expect, test } from 'vitest';
import { formatReply, formatReplyTo, rawReply, replyToJson } from './format.js';
import { labelsOf, replyLabels } from './labels.js';
import { type Reply, replyBuilder } from './reply.js';

const WIRE =
  '+OK\r\n:-5\r\n$-1\r\n$3\r\na\r\n\r\n*2\r\n*0\r\n%1\r\n$1\r\nk\r\n,1.5\r\n#t\r\n_\r\n=7\r\ntxt:a\nb\r\n-ERR no\r\n' +
  '~1\r\n:1\r\n(12345678901234567890\r\n*-1\r\n>1\r\n+x\r\n!5\r\nERR x\r\n';

function readAll(bytes: Buffer): Reply[] {
  const replies: Reply[] = [];
  new ReplyReader(replyBuilder, (reply) => replies.push(reply)).receive(bytes);
  return replies;
}

const replies = readAll(Buffer.from(WIRE));

describe('replies', () => {
  test('of every kind are read', () => {
    expect(replies.map(replyToJson)).toEqual([
      'OK',
      -5,
      null,
      'a\r\n',
      [[], { k: 1.5 }],
      true,
      null,
      'a\nb',
      { error: 'ERR no' },
      [1],
      '12345678901234567890',
      null,
      ['x'],
      { error: 'ERR x' },
    ]);
  });
});

describe('a reply at a terminal', () => {
  test('is made after redis-cli', () => {
    expect(replies.map((reply) => formatReply(reply))).toEqual([
      'OK',
      '(integer) -5',
      '(nil)',
      '"a\\r\\n"',
      '1) (empty array)\n2) 1# "k" => (double) 1.5',
      '(true)',
      '(nil)',
      'a\nb',
      '(error) ERR no',
      '1~ (integer) 1',
      '(big number) 12345678901234567890',
      '(nil)',
      '1) x',
      '(error) ERR x',
    ]);
  });

  test('never holds what a terminal acts upon, whatever a key is called', () => {
    const hostile = '\u001b]0;title\u0007\u001b[2J\r\nbell\u009b31m';
    const shown = formatReply({
      kind: 'array',
      items: [
        { kind: 'text', text: hostile },
        { kind: 'error', text: hostile },
      ],
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not be in the text
    expect(shown.replaceAll('\n2)', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test('into a pipe is what the server said', () => {
    expect(
      Buffer.from(
        rawReply({
          kind: 'array',
          items: [{ kind: 'integer', text: '1' }, { kind: 'nil' }, { kind: 'text', text: 'x' }],
        }),
      ).toString(),
    ).toBe('1\n\nx');
  });

  test('that is no UTF-8 keeps its bytes, and is shown as the prompt takes it', () => {
    const [reply] = readAll(Buffer.from('$3\r\na\xff"\r\n', 'latin1'));
    expect(formatReply(reply)).toBe('"a\\xff\\""');
    expect(Buffer.from(rawReply(reply))).toEqual(Buffer.from('a\xff"', 'latin1'));
  });

  test('integers that a number of JSON cannot hold are texts', () => {
    expect(replyToJson({ kind: 'integer', text: '9223372036854775807' })).toBe('9223372036854775807');
    expect(replyToJson({ kind: 'integer', text: '9007199254740991' })).toBe(9007199254740991);
  });
});

test('a row of numbers says at a terminal what each means, where there are as many as it should have', async () => {
  const client = new TestLane().open();
  const asked = [
    'INCREX a',
    'WINDOW.INCRBY a 60000 1',
    'WINDOW.GET a 60000',
    'RATE.LIMIT a 10 60000',
    'RATE.PEEK a 10 60000',
    'RATE.ADD a 10 60000',
    'RATE.GCRA a 1 10 60000',
  ];
  for (const line of asked) {
    const [command] = line.split(' ');
    const [reply] = readAll(Buffer.from(client.call(...line.split(' ')), 'latin1'));
    expect([command, labelsOf(command, reply)]).toEqual([command, replyLabels[command]]);
  }
  expect(labelsOf('incrEX', { kind: 'array', items: [] })).toBeUndefined();
  expect(formatReplyTo('increx', { kind: 'array', items: [number('10'), number('1')] }, true)).toBe(
    '1) (integer) 10  \x1b[2mvalue\x1b[0m\n2) (integer) 1   \x1b[2madded\x1b[0m',
  );
});

function number(text: string): Reply {
  return { kind: 'integer', text };
}
