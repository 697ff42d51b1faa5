export { type DialAttempt, type DialOptions, dial } from './dial.js';
export type { KeepaliveTimes } from './keepalive.js';
export { GrpcListener, type ListenerOptions } from './listener.js';
export { identityOf, identityUris, type PeerIdentity } from './peer-identity.js';
export type { PeerStream } from './peer-stream.js';
export { isLoopbackHost, mayUsePlaintext } from './plaintext.js';
export {
  loadTlsMaterial,
  type TlsFiles,
  type TlsMaterial,
  TlsMaterialError,
  type TlsWatch,
  watchTlsMaterial,
} from './tls-material.js';
export { TransportError, type TransportErrorCode } from './transport-error.js';
