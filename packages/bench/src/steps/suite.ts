import { ByteInput, Engine, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { ParseResult, parseInteger64, ReplyWriter, RequestParser } from '@quotadb/wire';
import { defineSuite } from '../command-line/suite.js';
import { DIGITS_OFFSET, encodeBurst, INCREMENT, KEY_BYTES, keyText, writeDigits } from '../load/request.js';
import { median } from '../results/summary.js';

const PIPELINE = 64;
const OPERATIONS = 2_000_000;
const ROUNDS = 5;
const KEY_COUNTS = [1, 100_000, 1_000_000];
const MEMORY_BYTES = 512 * 1024 * 1024;

interface Step {
  readonly name: string;
  /** Runs this number of operations. */
  readonly run: (operations: number) => void;
}

/**
 * `quotadb bench steps`: the cost of each step of serving an INCR, in this process, without a network. Each step runs
 * alone in a loop, so the figures are lower than in a server, where steps push each other out of the caches; they show
 * where a change may pay, and whether a change made a step slower.
 */
export const steps = defineSuite({
  name: 'steps',
  summary: 'what each step of an increment costs, without a network',
  flags: {},
  run(_options, { print }) {
    for (const { name, run } of allSteps()) {
      run(OPERATIONS / 10);
      const nanoseconds = Array.from({ length: ROUNDS }, () => timed(run));
      print(`${name.padEnd(48)}${median(nanoseconds).toFixed(1).padStart(8)} ns`);
    }
  },
});

function timed(run: (operations: number) => void): number {
  const start = process.hrtime.bigint();
  run(OPERATIONS);
  return Number(process.hrtime.bigint() - start) / OPERATIONS;
}

function* allSteps(): Iterable<Step> {
  yield { name: 'parse one INCR of a pipeline of 64', run: parseSteps() };
  yield { name: 'read an amount of nine digits', run: amountSteps() };
  yield { name: 'write an integer reply', run: replySteps() };
  for (const locks of [false, true]) {
    const engine = filledEngine(locks);
    const suffix = locks ? ', with locks' : '';
    for (const keys of KEY_COUNTS) {
      const count = keys.toLocaleString('en');
      yield { name: `open and close a key, of ${count}${suffix}`, run: openSteps(engine, keys, false) };
      yield { name: `increment a key, of ${count}${suffix}`, run: openSteps(engine, keys, true) };
    }
  }
}

function parseSteps(): Step['run'] {
  const { bytes } = encodeBurst(Array.from({ length: PIPELINE }, () => INCREMENT));
  const input = ByteInput.copyOf(bytes);
  const end = bytes.length;
  const parser = new RequestParser({ maximumBulkBytes: 1024 });
  return (operations) => {
    for (let done = 0; done < operations; done += PIPELINE) {
      for (let position = 0; parser.next(input, position, end) === ParseResult.Complete; ) position = parser.position;
    }
  };
}

function amountSteps(): Step['run'] {
  const bytes = new TextEncoder().encode('123456789');
  const halves = new Int32Array(2);
  return (operations) => {
    for (let done = 0; done < operations; done++) parseInteger64(bytes, 0, bytes.length, halves);
  };
}

function replySteps(): Step['run'] {
  const reply = new ReplyWriter();
  return (operations) => {
    for (let done = 0; done < operations; done += PIPELINE) {
      for (let index = 0; index < PIPELINE; index++) reply.integer64(0, 123_456 + index);
      reply.reset();
    }
  };
}

function filledEngine(shared: boolean): Engine {
  const engine = Engine.format({
    maxMemoryBytes: MEMORY_BYTES,
    shared,
    origin: new Uint8Array(ORIGIN_ID_BYTES),
    nowMs: Date.now(),
  });
  const key = ByteInput.copyOf(Buffer.from(keyText(0)));
  for (let index = 0; index < KEY_COUNTS.at(-1)!; index++) {
    writeDigits(key.bytes, DIGITS_OFFSET, index);
    engine.open(key, 0, KEY_BYTES);
    engine.add(0, 1);
    engine.close();
  }
  return engine;
}

function openSteps(engine: Engine, keyCount: number, increments: boolean): Step['run'] {
  const key = ByteInput.copyOf(Buffer.from(keyText(0)));
  let random = 1;
  return (operations) => {
    for (let done = 0; done < operations; done++) {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0;
      writeDigits(key.bytes, DIGITS_OFFSET, (random >>> 8) % keyCount);
      engine.open(key, 0, KEY_BYTES);
      if (increments) engine.add(0, 1);
      engine.close();
    }
  };
}
