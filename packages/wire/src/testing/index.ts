export { describeWithChromium, launchChromium } from './chromium.js';
export { describeWithEtcd, EtcdServers } from './etcd-server.js';
export { freshSeed } from './fresh-seed.js';
export { describeWithRedis, freePort, type RedisServer, startRedis } from './redis-server.js';
