import { describeWithRedis, startRedis } from '@quotadb/wire/testing';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../command-table/commands.js';
import type { Command } from '../../../session/command.js';
import { type Frame, TestClient } from '../../../testing/index.js';
import { type CommandArgument, parseSyntax } from './syntax.js';

const all: readonly (readonly [name: string, command: Command])[] = commands.flatMap((command) => [
  [command.name, command] as const,
  ...(command.subcommands ?? []).map((subcommand) => [`${command.name}|${subcommand.name}`, subcommand] as const),
]);

/** The syntax that a tree stands for. */
function printed(parts: readonly CommandArgument[]): string {
  return parts.map(printedPart).join(' ');
}

function printedPart(part: CommandArgument): string {
  const { isOptional, isMultiple, isTokenRepeated } = part;
  const once =
    part.type === 'oneof' && part.token === undefined && !isOptional ? `<${inner(part)}>` : unbracketed(part);
  const again = isTokenRepeated ? once : once.replace(`${part.token} `, '');
  const more = isMultiple ? `${once} [${again} ...]` : once;
  return isOptional ? `[${more}]` : more;
}

function unbracketed(part: CommandArgument): string {
  if (part.type === 'oneof' && part.token !== undefined) return `${part.token} <${inner(part)}>`;
  if (part.type === 'oneof') return inner(part);
  const own = part.type === 'pure-token' ? '' : part.type === 'block' ? printed(part.arguments ?? []) : part.name;
  return `${part.token ?? ''} ${own}`.trim();
}

function inner(part: CommandArgument): string {
  return (part.arguments ?? []).map((each) => printedPart(each)).join(' | ');
}

describe('the arguments of every command', () => {
  test.each(all.filter(([, { syntax }]) => syntax !== ''))('%s', (_, { syntax }) => {
    expect(printed(parseSyntax(syntax))).toBe(syntax);
  });
});

/** A tree without the names of groups and the versions of Redis, which the syntax does not have. */
type Shape = readonly [name: string, type: string, token: string, flags: string, inner: readonly Shape[]];

function shapeOf(part: CommandArgument): Shape {
  const { name, type, token = '', isOptional, isMultiple, isTokenRepeated } = part;
  const flags = `${isOptional ? 'o' : ''}${isMultiple ? 'm' : ''}${isTokenRepeated ? 't' : ''}`;
  return [part.arguments === undefined ? name : '', type, token, flags, (part.arguments ?? []).map(shapeOf)];
}

function reported(frame: Frame): Shape {
  const fields = new Map<string, Frame>();
  for (let index = 0; index < frame.children.length; index += 2)
    fields.set(frame.children[index].text, frame.children[index + 1]);
  const text = (name: string) => fields.get(name)?.text ?? '';
  const has = (flag: string) => fields.get('flags')?.children.some((each) => each.text === flag) === true;
  const flags = `${has('optional') ? 'o' : ''}${has('multiple') ? 'm' : ''}${has('multiple_token') ? 't' : ''}`;
  const parts = fields.get('arguments')?.children.map(reported) ?? [];
  return [parts.length > 0 ? '' : text('name'), text('type'), text('token'), flags, parts];
}

/** Where our syntax differs from Redis 7.0's on purpose: later options, or words of our own, or refused anyway. */
const OTHERWISE = new Set([
  ...['increx', 'incrbyex', 'client|kill', 'client|list', 'client|no-touch', 'client|setinfo', 'waitaof', 'debug'],
  ...['pubsub', 'auth', 'acl|genpass', 'info', 'config|set', 'command|list', 'incrbyfloat'],
]);

describeWithRedis('the arguments of the commands that Redis has too', () => {
  test('are those of Redis, but for the names of groups', async () => {
    const redis = await startRedis();
    try {
      const client = await TestClient.open(redis.port);
      const [docs] = await client.send([['COMMAND', 'DOCS']]);
      await client.close();
      const theirs = new Map<string, readonly Shape[]>();
      const collect = (frame: Frame): void => {
        for (let index = 0; index < frame.children.length; index += 2) {
          const fields = frame.children[index + 1].children;
          const field = (name: string) =>
            fields[fields.findIndex((each, at) => at % 2 === 0 && each.text === name) + 1];
          const has = (name: string) => fields.some((each, at) => at % 2 === 0 && each.text === name);
          theirs.set(frame.children[index].text, has('arguments') ? field('arguments').children.map(reported) : []);
          if (has('subcommands')) collect(field('subcommands'));
        }
      };
      collect(docs);
      const compared = all.filter(
        ([name, { group }]) => theirs.has(name) && !OTHERWISE.has(name) && !/^cluster/.test(name) && group !== 'server',
      );
      const differing = compared.filter(
        ([name, { syntax }]) => JSON.stringify(parseSyntax(syntax).map(shapeOf)) !== JSON.stringify(theirs.get(name)),
      );
      expect(differing.map(([name, { syntax }]) => [name, syntax, JSON.stringify(theirs.get(name))])).toEqual([]);
      expect(compared.length).toBeGreaterThan(60);
    } finally {
      await redis.stop();
    }
  });
});
