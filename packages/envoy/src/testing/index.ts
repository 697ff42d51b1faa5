export { EnvoyClient, encodeBy, type RateLimitReply } from './envoy-client.js';
export { ProxyModel } from './proxy-model.js';
