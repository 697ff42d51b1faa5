// Loaded into a library's own test suite: what it dials at Redis's port goes to the server under test.
const net = require('node:net');

const REDIS_PORT = 6379;
const port = Number(process.env.REDIRECTED_REDIS_PORT);
const { connect } = net.Socket.prototype;

net.Socket.prototype.connect = function redirected(...words) {
  const [first] = words;
  const options = Array.isArray(first) ? first[0] : first;
  if (typeof options === 'object' && Number(options.port) === REDIS_PORT) options.port = port;
  return connect.apply(this, words);
};
