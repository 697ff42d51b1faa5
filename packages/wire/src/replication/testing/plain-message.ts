import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { type Frame, FrameKind } from '../frames.js';
import { fromBatch, originOf, type PlainBatch } from './components.js';

/** The same frame as protobufjs sees it, worked out from replication.proto the slow and simple way. */
export const frameType = protobuf
  .loadSync(fileURLToPath(new URL('../replication.proto', import.meta.url)))
  .lookupType('quotadb.replication.v1.Frame');

export type Plain = Record<string, unknown>;

/** Every number as decimal digits, every list of bytes as an array: comparable whatever classes stand behind it. */
export function readByProtobufjs(bytes: Uint8Array): Plain {
  const object = frameType.toObject(frameType.decode(bytes), { longs: String, bytes: Array, arrays: true });
  delete object.says;
  return object;
}

export function writeByProtobufjs(plain: Plain): Uint8Array {
  const problem = frameType.verify(frameType.fromObject(plain));
  if (problem !== null) throw new Error(problem);
  return frameType.encode(frameType.fromObject(plain)).finish();
}

export function plainOf(frame: Frame): Plain {
  const [name] = Object.entries(FrameKind).find(([, kind]) => kind === frame.kind) as [string, FrameKind];
  if (frame.kind === FrameKind.batch) return { batch: plainBatch(fromBatch(frame.batch)) };
  const { kind: _, ...rest } = frame;
  const plain: Plain = { ...rest };
  const numbers = [
    'keys',
    'boot',
    'token',
    'afterToken',
    'version',
    'request',
    'policiesVersion',
    'need',
    'granted',
    'question',
  ] as const;
  for (const field of numbers) {
    if (typeof plain[field] === 'number') plain[field] = String(plain[field]);
  }
  for (const field of ['watermarks', 'versions'] as const) {
    if (field in plain) plain[field] = (plain[field] as number[]).map(String);
  }
  for (const field of ['origin', 'body', 'subject'] as const) {
    if (field in plain) plain[field] = [...(plain[field] as Uint8Array)];
  }
  if (frame.kind === FrameKind.inventory) plain.keys = frame.keys.map((key) => [...key]);
  if (frame.kind === FrameKind.ranges) plain.digests = [...frame.digests];
  if (frame.kind === FrameKind.digests) plain.digests = frame.digests.map((digest) => String(BigInt(`0x${digest}`)));
  return { [name]: plain };
}

function plainBatch(batch: PlainBatch): Plain {
  const { components } = batch;
  const places = (holds: (component: (typeof components)[number]) => boolean) =>
    distances(components.flatMap((component, index) => (holds(component) ? [index] : [])));
  const negative = components.filter((component) => component.negative !== 0n);
  const decided = components.filter((component) => component.decided !== 0);
  const floors = components.filter((component) => component.floorMs !== 0);
  const cancels = components.flatMap((component) => component.cancels);
  const cancelled = [...new Set(cancels.map((cancel) => cancel.origin))];
  return {
    shard: batch.shard,
    origin: [...originOf(batch.origin)],
    walk: String(batch.walk),
    start: String(batch.start),
    from: String(batch.from),
    reached: String(batch.reached),
    to: String(batch.to),
    keys: [...Buffer.from(components.map(({ key }) => key).join(''), 'latin1')],
    keyLengths: components.map(({ key }) => key.length),
    versionDeltas: distances(components.map(({ version }) => version)).map(String),
    ages: components.map(({ version, born }) => String(version - born)),
    positives: components.map(({ positive }) => String(positive)),
    absentAt: places(({ present }) => !present),
    negativeAt: places((component) => component.negative !== 0n),
    negatives: negative.map((component) => String(component.negative)),
    expiryAt: places((component) => component.decided !== 0),
    expiresAtMs: decided.map(({ expiresAtMs }) => String(expiresAtMs)),
    decided: decided.map((component) => String(component.decided)),
    floorAt: places(({ floorMs }) => floorMs !== 0),
    floorsMs: floors.map(({ floorMs }) => String(floorMs)),
    cancelAt: distances(components.flatMap((component, index) => component.cancels.map(() => index))),
    cancelledOrigins: cancelled.map((byte) => [...originOf(byte)]),
    cancelOrigin: cancels.map(({ origin }) => cancelled.indexOf(origin)),
    cancelBorn: cancels.map(({ born }) => String(born)),
    cancelPositives: cancels.map(({ positive }) => String(positive)),
    cancelNegatives: cancels.map((cancel) => String(cancel.negative)),
  };
}

function distances(values: readonly number[]): number[] {
  return values.map((value, index) => value - (index === 0 ? 0 : values[index - 1]));
}
