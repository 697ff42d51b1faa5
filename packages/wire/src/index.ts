export { FrameArena } from './replication/frame-arena.js';
export { decodeFrame, encodeBatch, encodeFrame } from './replication/frame-codec.js';
export * from './replication/frames.js';
export { ProtoReader } from './replication/proto-reader.js';
export { ProtoWriter, WireType } from './replication/proto-writer.js';
export { parseInteger64 } from './resp/integer.js';
export { ReplyWriter } from './resp/reply-writer.js';
export type { Request } from './resp/request.js';
export { ParseResult, type PartialRequest, RequestParser } from './resp/request-parser.js';
export { briefDuration, DURATION_EXAMPLES, formatDuration, parseDuration, readDuration } from './text/duration.js';
export { humanBytes } from './text/human-bytes.js';
export { nearestOf } from './text/nearest.js';
export {
  isServerOf,
  MAXIMUM_SERVER_NAME_CHARACTERS,
  memberOfServer,
  NAME_PART,
  regionOfServer,
  SERVER_NAME,
  serverName,
} from './text/server-name.js';
export { makeVisible } from './text/visible.js';
