import { type Reply, textOf } from '../client/reply.js';
import { checked, checkedText, Refused, type RespClient } from '../client/resp-client.js';

/** A counter of another server: its key, its value in decimal, and its time to live. */
export interface Counter {
  readonly key: Uint8Array;
  readonly value: string;
  /** Undefined where it does not expire. */
  readonly expiresInMs: number | undefined;
}

/** The result of one step of the scan: counters, and how many keys are no counters, by reason. */
export interface Found {
  readonly counters: readonly Counter[];
  readonly otherKinds: number;
  readonly noIntegers: number;
  readonly tooLong: number;
}

/** Keys read in one round trip: enough to hide the network, few enough not to hold up other clients. */
const KEYS_A_STEP = 500;
/** As in the engine, which refuses longer keys. */
const MAX_KEY_BYTES = 65_536;
const LOWEST = -(2n ** 63n);
const HIGHEST = 2n ** 63n - 1n;

/** Every counter that a scan of the source finds: a key that exists all the time at least once, maybe twice. */
export async function* countersOf(source: RespClient, pattern: string): AsyncGenerator<Found> {
  let cursor = '0';
  do {
    const reply = checked(await source.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', String(KEYS_A_STEP)));
    const [next, keys] = 'items' in reply ? reply.items : [];
    if (next === undefined || keys === undefined || !('text' in next) || !('items' in keys))
      throw new Refused('the source did not answer SCAN as Redis does');
    cursor = next.text;
    yield read(source, keys.items.map(bytesOf));
  } while (cursor !== '0');
}

async function read(source: RespClient, keys: readonly Uint8Array[]): Promise<Found> {
  const seen = await Promise.all(
    keys.map(async (key) => {
      // Asked in this order, a key that expires in between has no value, or a time to live that says so.
      const [value, lifetime] = await Promise.all([source.call('GET', key), source.call('PTTL', key)]);
      return { key, value, lifetimeMs: Number(checkedText(lifetime)) };
    }),
  );
  const gone = seen.filter(({ value, lifetimeMs }) => value.kind === 'nil' || lifetimeMs === -2);
  const there = seen.filter((one) => !gone.includes(one));
  const texts = there.filter(({ value }) => !isOtherKind(value));
  const integers = texts.filter(({ value }) => isInteger(checkedText(value)));
  const kept = integers.filter(({ key }) => key.length <= MAX_KEY_BYTES);
  return {
    counters: kept.map(({ key, value, lifetimeMs }) => ({
      key,
      value: textOf(value),
      expiresInMs: lifetimeMs < 0 ? undefined : Math.max(lifetimeMs, 1),
    })),
    otherKinds: there.length - texts.length,
    noIntegers: texts.length - integers.length,
    tooLong: integers.length - kept.length,
  };
}

function isOtherKind(reply: Reply): boolean {
  return reply.kind === 'error' && reply.text.startsWith('WRONGTYPE');
}

/** A value that INCR of Redis accepts: 64 bits, in the shortest form. */
function isInteger(text: string): boolean {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false;
  const value = BigInt(text);
  return value >= LOWEST && value <= HIGHEST;
}

function bytesOf(reply: Reply): Uint8Array {
  return 'text' in reply ? (reply.bytes ?? Buffer.from(reply.text)) : Buffer.alloc(0);
}
