export { encodeCommand, type Word } from './encode.js';
export { ProtocolError, type ReplyBuilder, ReplyReader, ReplyType } from './reply-reader.js';
export { type Reply, valueBuilder } from './values.js';
