# Rack::Attack on Redis, as its documentation sets it up. Prints what a user sees, as JSON.
require 'json'
require 'rack'
require 'redis'
require 'rack/attack'

redis = Redis.new(host: '127.0.0.1', port: ARGV[0].to_i)
Rack::Attack.cache.store = redis
Rack::Attack.throttle('requests by ip', limit: 3, period: 3600) { |request| request.ip }
Rack::Attack.blocklist('fail2ban') do |request|
  Rack::Attack::Fail2Ban.filter("ban-#{request.ip}", maxretry: 2, findtime: 3600, bantime: 3600) do
    request.path == '/admin'
  end
end

app = Rack::Builder.new do
  use Rack::Attack
  run ->(_env) { [200, {}, ['hello']] }
end.to_app

def statuses(app, ip, path, count)
  Array.new(count) { app.call(Rack::MockRequest.env_for(path, 'REMOTE_ADDR' => ip))[0] }
end

puts JSON.generate(
  throttled: statuses(app, '192.0.2.1', '/', 5),
  banned: statuses(app, '192.0.2.2', '/admin', 2) + statuses(app, '192.0.2.2', '/', 1)
)
