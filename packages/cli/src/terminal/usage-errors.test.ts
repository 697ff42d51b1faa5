import { expect, test, vi } from 'vitest';
import { buildProgram } from '../program/program.js';
import { EXIT_USAGE } from './exit-codes.js';

/** What a command line with a mistake prints; its exit code ends it, as it would end the process. */
async function complaintOf(...words: string[]): Promise<string> {
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const program = buildProgram((code) => {
    throw new Error(`exit ${code}`);
  });
  try {
    await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(`exit ${EXIT_USAGE}`);
  } finally {
    write.mockRestore();
  }
  return written.join('');
}

test.each([
  [['serv'], `quotadb: unknown command 'serv'; did you mean serve?\n`],
  [['frobnicate'], `quotadb: unknown command 'frobnicate'; "quotadb --help" lists them\n`],
  [['certs', 'issu'], `quotadb: unknown command 'issu'; did you mean issue?\n`],
  [['serve', '--tiemout', '5'], `quotadb: unknown option '--tiemout'; did you mean --timeout?\n`],
  [['serve', 'now'], `quotadb: "now" is one word too many: quotadb serve takes flags only\n`],
  [['watch', 'a', 'b'], `quotadb: "b" is one word too many: quotadb watch takes nothing behind key\n`],
  [['peers', 'remove', 'eu', 'us'], `quotadb: "us" is one word too many: quotadb peers remove takes nothing behind`],
  [['backup'], `quotadb: required option '--to <name>' not specified\n`],
])('%j is refused in one line that names the word and what may stand there', async (words, complaint) => {
  expect(await complaintOf(...words)).toContain(complaint);
});
