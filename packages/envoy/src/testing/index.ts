export { decodeBy, EnvoyClient, encodeBy, messageType, type RateLimitReply } from './envoy-client.js';
export { ProxyModel } from './proxy-model.js';
