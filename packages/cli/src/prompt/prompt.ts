import { createInterface, emitKeypressEvents, type Interface } from 'node:readline';
import { usesColors } from '@quotadb/config';
import { commands } from '@quotadb/resp';
import { DIM, PLAIN } from '../client/colors.js';
import { formatReplyTo } from '../client/format.js';
import { RespClient, type Target, Unreachable } from '../client/resp-client.js';
import { Hints } from './hints.js';
import { History } from './history.js';
import { splitWords } from './split-words.js';

/** The width of a terminal that does not report one. */
const USUAL_COLUMNS = 80;

/** The prompt of `quotadb cli`: until exit, Ctrl-D, or Ctrl-C on an empty line. */
export async function runPrompt(target: Target, client: RespClient): Promise<void> {
  const hints = new Hints(commands);
  const history = new History();
  const prompt = `${client.where}> `;
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt,
    history: history.load(),
    historySize: 1000,
    removeHistoryDuplicates: true,
    completer: (line: string): [string[], string] => {
      const word = line.split(/\s/).at(-1) ?? '';
      return [[...hints.complete(line)].map((name) => `${name} `), word];
    },
  });
  showHints(reader, hints, prompt.length);
  let current: RespClient | undefined = client;
  reader.on('SIGINT', () => {
    if (reader.line === '') reader.close();
    else reader.write(null, { ctrl: true, name: 'u' });
  });
  reader.prompt();
  for await (const line of reader) {
    history.add(line);
    if (/^\s*(?:exit|quit)\s*$/i.test(line)) break;
    current = await runLine(line, current, target, hints);
    reader.prompt();
  }
  reader.close();
  current?.close();
}

/** Returns the connection to go on with: a new one where the last was lost. */
async function runLine(
  line: string,
  client: RespClient | undefined,
  target: Target,
  hints: Hints,
): Promise<RespClient | undefined> {
  const words = splitWords(line);
  if (words === undefined) {
    say('Invalid argument(s): quotes are not closed');
    return client;
  }
  if (words.length === 0) return client;
  const [first, second, third] = words.map(String);
  if (first.toLowerCase() === 'help') {
    say(hints.explain(second, third));
    return client;
  }
  try {
    const connected = client ?? (await RespClient.open(target));
    const reply = await connected.call(...words);
    say(formatReplyTo(first, reply, usesColors(process.stdout, process.env)));
    const suggestion = hints.suggestFor(first, reply);
    if (suggestion !== undefined) say(suggestion);
    return connected;
  } catch (error) {
    say(error instanceof Unreachable ? `${error.message}; the next command tries again` : (error as Error).message);
    return undefined;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Shows behind the typed text, in grey, the arguments that may follow; the next key clears them. */
function showHints(reader: Interface, hints: Hints, promptWidth: number): void {
  // Without colours a hint would look like typed text.
  if (!usesColors(process.stdout, process.env)) return;
  emitKeypressEvents(process.stdin);
  // Before readline takes the line: the hint behind it must not stay on the screen as if it had been typed.
  process.stdin.prependListener('keypress', (_text: string, key: { name?: string } | undefined) => {
    const isSent = key?.name === 'return' || key?.name === 'enter';
    if (isSent && reader.cursor === reader.line.length) process.stdout.write('\x1b[K');
  });
  process.stdin.on('keypress', (_text: string, key: { name?: string } | undefined) => {
    if (key?.name === 'return' || key?.name === 'enter') return;
    setImmediate(() => {
      const { line, cursor } = reader;
      if (line === '' || cursor !== line.length) return;
      const columns = process.stdout.columns || USUAL_COLUMNS;
      const room = columns - ((promptWidth + line.length) % columns) - 1;
      const hint = hints.hint(line).slice(0, Math.max(room, 0));
      if (hint === '') process.stdout.write('\x1b[K');
      else process.stdout.write(`\x1b[K${DIM}${hint}${PLAIN}\x1b[${hint.length}D`);
    });
  });
}
