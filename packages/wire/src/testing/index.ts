export { describeWithChromium, launchChromium } from './chromium.js';
export { describeWithRedis, type RedisServer, redisServerFound, startRedis } from './redis-server.js';
