import { parentPort } from 'node:worker_threads';
import fc from 'fast-check';

/**
 * A thread that attacks regular expressions, one a message, and answers whether each is slow. An expression without
 * end, or one that fast-check cannot make an example of, holds up this thread alone.
 */
const LONG_TEXT = 20_000;
/** Linear ones take less than a millisecond, quadratic ones more than a tenth of a second. */
const PATIENCE_MS = 50;
const EXAMPLES = 4;
/** Pieces of an example that are repeated: this long at most, from its beginning, up to this place. */
const MAX_PIECE = 3;
const MAX_PLACE = 24;

function* attacksOn(expression: RegExp): Generator<string> {
  // fast-check makes examples of plain expressions only; those without word boundaries will do.
  const plain = new RegExp(expression.source.replaceAll('\\b', ''), expression.flags.replace(/[giy]/g, ''));
  const matching = fc.stringMatching(plain);
  for (const example of new Set(fc.sample(matching, { numRuns: EXAMPLES, seed: 1 }))) {
    for (let start = 0; start < Math.min(example.length, MAX_PLACE); start++) {
      for (let end = start + 1; end <= Math.min(start + MAX_PIECE, example.length); end++) {
        const repeated = example.slice(start, end).repeat(LONG_TEXT / (end - start));
        yield `${example.slice(0, start)}${repeated}\u0001`;
        yield `${example.slice(0, start)}${repeated}${example.slice(end)}\n\u0001`;
      }
    }
  }
}

function isSlow(expression: RegExp): boolean {
  for (const text of attacksOn(expression)) {
    // Twice, because collected garbage and compilation count for this process too.
    if (cpuMs(expression, text) > PATIENCE_MS && cpuMs(expression, text) > PATIENCE_MS) return true;
  }
  return false;
}

function cpuMs(expression: RegExp, text: string): number {
  const before = process.cpuUsage();
  expression.lastIndex = 0;
  text.replace(expression, '');
  return process.cpuUsage(before).user / 1000;
}

parentPort?.on('message', (expression: RegExp) => parentPort?.postMessage(isSlow(expression)));
