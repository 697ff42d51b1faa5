import { stripVTControlCharacters } from 'node:util';

/** A command of a guide, and its output in the guide. */
export interface ConsoleExample {
  readonly command: string;
  readonly printed: string;
}

/** The commands of the console blocks of a page. A command goes on for as long as a shell would wait for its `END`. */
export function consoleExamples(page: string): readonly ConsoleExample[] {
  const blocks = page.matchAll(/```console\n(.*?)```/gs);
  return [...blocks].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const heredoc = /^.*<<'END'\n(?:.|\n)*?\nEND\n/.exec(example)?.[0];
        const command = heredoc ?? `${example.split('\n', 1)[0]}\n`;
        return { command: command.trimEnd(), printed: example.slice(command.length).trimEnd() };
      }),
  );
}

/** Output without its variable parts: the rest of a window, long numbers, times, sizes, ids, and column widths. */
export function withoutChance(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll('\r', '')
    .replaceAll(
      /\d+(?= +ms until the window ends)|(?<="(?:resetMs|retryAfterMs)":)\d{2,}|(?<=\[ ?1, ?\d+, ?\d+, ?)\d+|\d{4,}/g,
      '#',
    )
    .replaceAll(/(?<=\[0,\d+,\d+,-1,)\d+/g, '#')
    .replaceAll(/"[\w-]{20}@local"/g, '#')
    .replaceAll(/\d+s(?= )|[\d.]+[KM]\b|[\d.]+ ms$|\d (?=epoll|io)|(?<=(?:epoll|io) +)\d+ +\d+ +\d+/gm, '#')
    .replaceAll(/ +/g, ' ')
    .trimEnd();
}

/** The windows of the guide, as it writes them. */
const WINDOWS = [
  { written: /\b(?:60s|60000)\b/, lengthMs: 60_000 },
  { written: /\b(?:1h|3600000)\b/, lengthMs: 3_600_000 },
  { written: /\b(?:1d|86400000)\b/, lengthMs: 86_400_000 },
];
/** The commands of a page take less, on a busy machine too. */
const ROOM_MS = 25_000;

/**
 * Waits while one of the windows that a page names is about to end: its outputs are those of one window. Windows begin
 * at multiples of their length, so there is nothing to ask but the clock.
 */
export async function awaitRoomInWindows(page: string): Promise<void> {
  const lengths = WINDOWS.filter(({ written }) => written.test(page)).map(({ lengthMs }) => lengthMs);
  const waits = lengths.map((length) => length - (Date.now() % length)).filter((leftMs) => leftMs < ROOM_MS);
  if (waits.length > 0) await new Promise((resolve) => setTimeout(resolve, Math.max(...waits) + 1));
}
