export { describeWithChromium, launchChromium } from './chromium.js';
export { describeWithRedis, type RedisServer, startRedis } from './redis-server.js';
