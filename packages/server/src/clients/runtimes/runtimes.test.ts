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
import { FACTS_OVER_HTTP } from './over-http-facts.js';

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

const clientFolder = new URL('../../../../client/', import.meta.url);

/** The client with sockets, as an ECMAScript module and as CommonJS; and its entry over HTTP, without any of Node. */
const entries = [
  { entry: 'the client', program: 'every-runtime.mjs', module: 'dist/index.js', facts: socketFacts() },
  {
    entry: 'the client as CommonJS',
    program: 'every-runtime.mjs',
    module: 'commonjs/dist/index.js',
    facts: socketFacts(),
  },
  {
    entry: 'the client over HTTP',
    program: 'over-http-main.mjs',
    module: 'dist/http/index.js',
    facts: FACTS_OVER_HTTP,
  },
];

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

for (const { name, command, words } of runtimes) {
  const isThere = spawnSync(command, ['--version']).status === 0;
  if (!isThere) process.stderr.write(`no ${name} on this machine: the client is not tested with it\n`);
  const isSkipped = !isThere && process.env.CI !== 'true';
  test.skipIf(isSkipped).each(entries)(`on ${name} $entry does what it does everywhere`, async (tried) => {
    const child = spawn(command, [...words, fileURLToPath(new URL(tried.program, import.meta.url))], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NO_COLOR: '1',
        CLIENT_URL: new URL(tried.module, clientFolder).href,
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
    expect(said.trimEnd().split('\n')).toEqual(tried.facts);
  });
}

function socketFacts(): readonly string[] {
  return [
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
}
