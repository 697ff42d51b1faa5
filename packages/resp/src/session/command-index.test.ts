import { expect, test } from 'vitest';
import { commands } from '../command-table/commands.js';
import { buildCommandDirectory, CommandIndex } from './command-index.js';

const directory = buildCommandDirectory(commands);

test('every command is found by its name in any case', () => {
  for (const command of commands) {
    expect(directory.index.findText(command.name)?.command).toBe(command);
    expect(directory.index.findText(command.name.toUpperCase())?.command).toBe(command);
  }
});

test('every subcommand is found in its parent, under its full name', () => {
  const list = directory.index.findText('client')?.subcommands?.findText('LIST');
  expect(list?.fullName).toBe('client|list');
  for (const entry of directory.entries) expect(directory.entries[entry.id]).toBe(entry);
});

test('a name that differs in one byte, even only in the case bit of a sign, is not found', () => {
  const bytes = new Uint8Array(4);
  for (const name of ['incr', 'ping', 'mget']) {
    for (let position = 0; position < name.length; position++) {
      for (let byte = 0; byte < 256; byte++) {
        bytes.set(Buffer.from(name));
        if ((byte | 0x20) === bytes[position] && /[a-z]/i.test(String.fromCharCode(byte))) continue;
        bytes[position] = byte;
        const text = Buffer.from(bytes).toString('latin1');
        const found = directory.index.find(bytes, 0, bytes.length);
        expect(found === undefined || found.command.name === text.toLowerCase()).toBe(true);
      }
    }
  }
  expect(directory.index.findText('inc')).toBeUndefined();
  expect(directory.index.findText('incrr')).toBeUndefined();
  expect(directory.index.findText('')).toBeUndefined();
  expect(directory.index.findText('client\rlist')).toBeUndefined();
  expect(directory.index.findText('no\revict')).toBeUndefined();
});

test('a name is found wherever it lies in the input', () => {
  const bytes = Buffer.from('xxINCRxx');
  expect(directory.index.find(bytes, 2, 4)?.command.name).toBe('incr');
});

test('two commands of one name are refused when the table is built', () => {
  const [entry] = directory.index.entries;
  expect(() => new CommandIndex([entry, entry])).toThrow(/two commands named/);
});
