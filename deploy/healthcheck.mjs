// Whether the server in this container serves its clients: exit code 0 when /readyz says so. Used by HEALTHCHECK.
import { get } from 'node:http';
import { get as getSecurely } from 'node:https';

const isSecure = /^(?:yes|true)$/i.test(process.env.QUOTADB_HTTP_TLS ?? '');
// The certificate is that of the name others use; this asks the same process, over loopback.
const options = { host: '127.0.0.1', port: process.env.QUOTADB_HTTP ?? '8380', path: '/readyz', timeout: 2500 };
const request = (isSecure ? getSecurely : get)({ ...options, rejectUnauthorized: false }, (response) => {
  response.resume();
  process.exitCode = response.statusCode === 200 ? 0 : 1;
});
request.on('timeout', () => request.destroy(new Error('no answer')));
request.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
