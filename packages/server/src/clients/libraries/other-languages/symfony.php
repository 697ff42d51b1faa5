<?php
// Symfony's cache adapter over phpredis, with integers. Prints what a user sees, as JSON.
error_reporting(E_ALL & ~E_DEPRECATED);
require '/usr/share/php/Symfony/Component/Cache/autoload.php';

use Symfony\Component\Cache\Adapter\RedisAdapter;

$redis = RedisAdapter::createConnection('redis://127.0.0.1:' . $argv[1]);
echo json_encode([
    'incr' => [$redis->incr('hits'), $redis->incrBy('hits', 4)],
    'set nx ex' => [$redis->set('once', 1, ['nx', 'ex' => 60]), $redis->set('once', 1, ['nx', 'ex' => 60])],
    'ttl' => $redis->ttl('once'),
    'eval' => $redis->eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", ['hits', 5], 1),
]);
