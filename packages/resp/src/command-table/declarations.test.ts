import { describeWithRedis, startRedis } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { counterCommands } from '../commands/counters/index.js';
import { keyCommands } from '../commands/keys/index.js';
import type { Command } from '../index.js';
import { type Frame, TestClient } from '../testing/index.js';

/** Commands that the Redis we compare with is too old for, or never had. */
const UNKNOWN_TO_REDIS = new Set(['increx', 'incrbyex']);

interface Declaration {
  readonly name: string;
  readonly arity: number;
  readonly flags: readonly string[];
  readonly keys: readonly number[];
}

function declared(command: Command, name: string): Declaration {
  return { name, arity: command.arity, flags: [...command.flags].sort(), keys: command.keys ?? [0, 0, 0] };
}

function reported(info: Frame): Declaration {
  const [name, arity, flags, ...keys] = info.children;
  return {
    name: name.text,
    arity: Number(arity.text),
    flags: flags.children.map((flag) => flag.text).sort(),
    keys: keys.slice(0, 3).map((position) => Number(position.text)),
  };
}

describeWithRedis('what we declare of a command', () => {
  test('is what Redis says of it', async () => {
    const expected = [...counterCommands, ...keyCommands]
      .filter(({ name }) => !UNKNOWN_TO_REDIS.has(name))
      .flatMap((command) => [
        declared(command, command.name),
        ...(command.subcommands ?? []).map((subcommand) => declared(subcommand, `${command.name}|${subcommand.name}`)),
      ]);
    const redis = await startRedis();
    try {
      const client = await TestClient.open(redis.port);
      const [reply] = await client.send([['COMMAND', 'INFO', ...expected.map(({ name }) => name)]]);
      await client.close();
      expect(reply.children.map(reported)).toEqual(expected);
    } finally {
      await redis.stop();
    }
  });
});
