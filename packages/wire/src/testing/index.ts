export { describeWithRedis, type RedisServer, redisServerFound, startRedis } from './redis-server.js';
