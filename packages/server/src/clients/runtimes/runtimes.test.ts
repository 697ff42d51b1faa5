import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  issueCertificate,
  startTestServer,
  type TestServer,
} from '../../testing/index.js';

/**
 * The client runs on Node, Bun and Deno. The last two are large, and only tested where they are found: on the PATH, or
 * at QUOTADB_BUN and QUOTADB_DENO (`npm install bun deno`, somewhere else, has both). In CI they must be there.
 */
const runtimes = [
  { name: 'Node', command: process.execPath, words: [] },
  { name: 'Bun', command: process.env.QUOTADB_BUN ?? 'bun', words: ['run'] },
  {
    name: 'Deno',
    command: process.env.QUOTADB_DENO ?? 'deno',
    words: ['run', '--allow-net', '--allow-env', '--allow-read'],
  },
];

const program = fileURLToPath(new URL('every-runtime.mjs', import.meta.url));
const clientUrl = new URL('../../../../client/dist/index.js', import.meta.url).href;

let server: TestServer;
let files: CertificateFiles;
let authority: string;
beforeAll(async () => {
  const signer = createAuthority('the authority');
  authority = signer.certificate;
  files = await certificateFiles();
  const { certificate, key } = await files.write('server', issueCertificate(signer, 'the server'));
  server = await startTestServer({ respTlsPort: 0, tlsCertificate: certificate, tlsKey: key });
});
afterAll(async () => {
  await server.stop();
  await files.remove();
});

const facts = [
  'counts: 5 6 6',
  'every digit: 4611686018427387905',
  'keys of any bytes: 3',
  'pipelined, in order: true',
  'reconnected: true',
  'aborted: true ',
  'timeout: true',
  'rate limit: 100 true',
  'quota over resp: 200 true',
  'given back: 200',
  'quota over http: 200 true',
  'given back: 200',
  'window over http: 1152921504606846977',
  'tls: 1',
  'unknown certificate: true',
];

for (const { name, command, words } of runtimes) {
  const isThere = spawnSync(command, ['--version']).status === 0;
  if (!isThere) process.stderr.write(`no ${name} on this machine: the client is not tested with it\n`);
  const isSkipped = !isThere && process.env.CI !== 'true';
  test.skipIf(isSkipped)(`on ${name} the client does what it does everywhere`, { timeout: 60_000 }, async () => {
    const child = spawn(command, [...words, program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NO_COLOR: '1',
        CLIENT_URL: clientUrl,
        RESP_PORT: String(server.port),
        HTTP_PORT: String(server.httpPort),
        TLS_PORT: String(server.server.state.identity.respTlsPort),
        CA: authority,
      },
    });
    let said = '';
    let complained = '';
    child.stdout.on('data', (text) => {
      said += text;
    });
    child.stderr.on('data', (text) => {
      complained += text;
    });
    const [code] = await once(child, 'close');
    expect([code, complained]).toEqual([0, '']);
    expect(said.trimEnd().split('\n')).toEqual(facts);
  });
}
