<?php
// Laravel's RateLimiter on its Redis cache over phpredis. Prints what a user sees, as JSON.
error_reporting(E_ALL & ~E_DEPRECATED);
require '/usr/share/php/Illuminate/Cache/autoload.php';
require '/usr/share/php/Illuminate/Redis/autoload.php';
require '/usr/share/php/Illuminate/Support/autoload.php';

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\Connectors\PhpRedisConnector;
use Illuminate\Contracts\Redis\Factory;

final class OneConnection implements Factory
{
    public function __construct(private $connection)
    {
    }

    public function connection($name = null)
    {
        return $this->connection;
    }
}

$config = ['host' => '127.0.0.1', 'port' => (int) $argv[1], 'database' => (int) ($argv[2] ?? 0)];
$connection = (new PhpRedisConnector)->connect($config, []);
$cache = new Repository(new RedisStore(new OneConnection($connection), 'laravel:'));
$limiter = new RateLimiter($cache);

$attempts = [];
for ($asked = 0; $asked < 5; $asked++) {
    $attempts[] = $limiter->attempt('login:alice', 3, fn () => true, 60);
}
$seen = [
    'attempts' => $attempts,
    'too many' => $limiter->tooManyAttempts('login:alice', 3),
    'left' => $limiter->retriesLeft('login:alice', 3),
    'available in' => $limiter->availableIn('login:alice') > 50,
    'add' => [$cache->add('once', 1, 60), $cache->add('once', 1, 60)],
    'increment' => [$cache->increment('hits'), $cache->increment('hits', 5), $cache->decrement('hits')],
];
$limiter->clear('login:alice');
$seen['after clear'] = $limiter->attempt('login:alice', 3, fn () => true, 60);
echo json_encode($seen);
