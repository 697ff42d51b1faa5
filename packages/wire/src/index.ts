export { decodeFrame, encodeBatch, encodeFrame } from './replication/frame-codec.js';
export * from './replication/frames.js';
export { parseInteger64 } from './resp/integer.js';
export { ReplyWriter } from './resp/reply-writer.js';
export type { Request } from './resp/request.js';
export { ParseResult, type PartialRequest, RequestParser, type RequestParserOptions } from './resp/request-parser.js';
