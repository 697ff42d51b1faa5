import { nameOfOrigin } from '@quotadb/replication';
import { type Frame, FrameKind } from '@quotadb/wire';

/** A frame in one line, for a trace. */
export function describeFrame(frame: Frame, nameOf: (origin: string) => string): string {
  const of = (origin: Uint8Array) => nameOf(nameOfOrigin(origin));
  switch (frame.kind) {
    case FrameKind.hello:
      return `hello, ${frame.region} as ${of(frame.origin)}`;
    case FrameKind.refusal:
      return `refusal (${frame.code})`;
    case FrameKind.feed:
      return frame.isWanted ? `feed ${of(frame.origin)} from ${frame.watermarks}` : `no more ${of(frame.origin)}`;
    case FrameKind.batch: {
      const { batch } = frame;
      const decoder = new TextDecoder();
      const components = Array.from({ length: batch.count }, (_, index) => {
        const key = decoder.decode(batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index]));
        return `${key}@${batch.version[index]}${batch.present[index] === 1 ? '' : ' over'}`;
      });
      const { origin, shardIndex, start, from, reached, to } = batch;
      return `batch ${of(origin)}/${shardIndex} ${start}:${from}:${reached} to ${to} [${components.join(', ')}]`;
    }
    case FrameKind.seen:
      return `seen ${of(frame.origin)} ${frame.versions}${frame.isWhole ? ` (${frame.ageMs} ms)` : ''}`;
    case FrameKind.ping:
      return `ping ${frame.token}`;
    case FrameKind.pong:
      return `pong ${frame.token}`;
    case FrameKind.digests:
      return `digests ${of(frame.origin)}/${frame.shards} at ${frame.versions}: ${frame.digests}`;
    case FrameKind.ranges:
      return `ranges ${of(frame.origin)}/${frame.shard} at ${frame.version}`;
    case FrameKind.inventory:
      return `inventory ${of(frame.origin)}/${frame.shard} at ${frame.version}: ${frame.keys.map(
        (key, index) => `${new TextDecoder().decode(key)}@${frame.versions[index]}`,
      )}${frame.wantsAnswer ? ', yours?' : ''}`;
    case FrameKind.policies:
      return `policies ${frame.version}`;
    case FrameKind.tokensWanted:
      return `tokens wanted from ${frame.toRegion}: ${frame.need}`;
    case FrameKind.tokensAnswer:
      return `tokens for ${frame.toRegion}: ${frame.granted}`;
    case FrameKind.policyChange:
      return `policy change ${frame.request}`;
    case FrameKind.policyAnswer:
      return `policy answer ${frame.request}`;
  }
}
