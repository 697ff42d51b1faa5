import { createInterface } from 'node:readline';
import { formatReplyTo, rawReply, replyToJson } from '../client/format.js';
import type { Reply } from '../client/reply.js';
import { RespClient, type Target } from '../client/resp-client.js';
import { runPrompt } from '../prompt/prompt.js';
import { splitWords } from '../prompt/split-words.js';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';

export interface CliOptions {
  readonly json?: boolean;
}

/** Commands on their way at once from a pipe: enough to hide the network, and no more than a little memory. */
const IN_FLIGHT = 256;

/** One command from the command line; or many from a pipe, one a line; or a prompt. Exit code 1 says that some reply was an error. */
export async function runCli(target: Target, words: readonly string[], options: CliOptions): Promise<number> {
  const client = await RespClient.open(target);
  try {
    if (words.length > 0) return show(await client.call(...words), options, words[0]);
    if (process.stdin.isTTY) {
      await runPrompt(target, client);
      return EXIT_OK;
    }
    return await runPipe(client, options);
  } finally {
    client.close();
  }
}

async function runPipe(client: RespClient, options: CliOptions): Promise<number> {
  let code = EXIT_OK;
  const inFlight: Promise<Reply>[] = [];
  const showFirst = async (): Promise<void> => {
    const reply = (await inFlight.shift()) as Reply;
    code = Math.max(code, show(reply, options));
  };
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const words = splitWords(line);
    if (words === undefined) {
      while (inFlight.length > 0) await showFirst();
      code = Math.max(code, show({ kind: 'error', text: 'ERR quotes are not closed in this line' }, options));
      continue;
    }
    const reply = client.call(...words);
    // Looked at in its turn; until then nobody else has to hear of a failure.
    reply.catch(() => {});
    inFlight.push(reply);
    if (inFlight.length >= IN_FLIGHT) await showFirst();
  }
  while (inFlight.length > 0) await showFirst();
  return code;
}

/** At a terminal as people read it, into a pipe as programs do. */
function show(reply: Reply, { json }: CliOptions, command = ''): number {
  const forPeople = () => (process.stdout.isTTY ? formatReplyTo(command, reply) : rawReply(reply));
  const text = json ? JSON.stringify(replyToJson(reply)) : forPeople();
  process.stdout.write(Buffer.concat([Buffer.from(text), Buffer.from('\n')]));
  return reply.kind === 'error' ? EXIT_FAILURE : EXIT_OK;
}
