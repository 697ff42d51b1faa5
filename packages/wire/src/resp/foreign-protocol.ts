/**
 * Lines of other protocols, which a web page can make a program send that may connect to a RESP port: a browser, a
 * proxy, a fetcher of images. Their headers would be answered as unknown commands, and
 * the body behind them would run.
 *
 *   line                                            sent by
 *   begins with the word POST, in any case          every form and fetch() of a page; Redis closes on it too
 *   begins with Host:, in any case                  every request of HTTP/1.1; Redis closes on it too
 *   its last word begins with HTTP/                 GET, PUT, OPTIONS, PRI * HTTP/2.0 … and every reply
 *   begins with bytes 0x16 0x03                     a TLS handshake, whose session ticket may hold a line of commands
 */

const FOUND = -1;

/**
 * Searches the lines of bytes[from..end), up to the first that begins a multibulk command. Returns the position up to
 * which there is none, which is the beginning of the last line where that is not complete; negative where there is one.
 */
export function searchForeignLine(bytes: Uint8Array, from: number, end: number): number {
  let start = from;
  while (start < end && bytes[start] !== STAR) {
    const lineFeed = bytes.indexOf(LINE_FEED, start);
    const isComplete = lineFeed !== -1 && lineFeed < end;
    if (hasForeignBeginning(bytes, start, isComplete ? lineFeed + 1 : end)) return FOUND;
    if (!isComplete) return start;
    if (endsWithVersion(bytes, start, lineFeed)) return FOUND;
    start = lineFeed + 1;
  }
  return start;
}

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const STAR = 0x2a;
const CASE_BIT = 0x20;
const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 0x03;
const POST = Buffer.from('post');
const HOST = Buffer.from('host:');
const VERSION = Buffer.from('HTTP/');

function hasForeignBeginning(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start >= 2 && bytes[start] === TLS_HANDSHAKE && bytes[start + 1] === TLS_MAJOR_VERSION) return true;
  let word = start;
  while (word < end && bytes[word] <= SPACE) word++;
  if (beginsWith(bytes, word, end, HOST)) return true;
  const behind = word + POST.length;
  return beginsWith(bytes, word, end, POST) && behind < end && bytes[behind] <= SPACE;
}

/** Without regard to case. */
function beginsWith(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  if (end - start < word.length) return false;
  for (let offset = 0; offset < word.length; offset++) {
    if ((bytes[start + offset] | CASE_BIT) !== word[offset]) return false;
  }
  return true;
}

function endsWithVersion(bytes: Uint8Array, start: number, end: number): boolean {
  let wordEnd = end;
  while (wordEnd > start && bytes[wordEnd - 1] <= SPACE) wordEnd--;
  let word = wordEnd;
  while (word > start && bytes[word - 1] > SPACE) word--;
  if (wordEnd - word < VERSION.length) return false;
  for (let offset = 0; offset < VERSION.length; offset++) if (bytes[word + offset] !== VERSION[offset]) return false;
  return true;
}
