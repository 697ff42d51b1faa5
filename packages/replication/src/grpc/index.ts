export { MessageError, MessageReader, PREFIX_BYTES } from './message-reader.js';
export { CONTENT_TYPE, isGrpc, statusHeaders } from './protocol.js';
export { findSealFault, sealText } from './seal.js';
export { GrpcStatus } from './status.js';
export { loadTlsMaterial, type TlsMaterial, watchTlsMaterial } from './tls-material.js';
