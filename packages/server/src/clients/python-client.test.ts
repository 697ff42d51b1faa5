import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram, startTestServer, type TestServer } from '../testing/index.js';

/** The Python client's own suite, and the code of its README, with Debian's Python and redis-py against a server. */
const PYTHON = '/usr/bin/python3';
const folder = fileURLToPath(new URL('../../../../clients/python/', import.meta.url));
const read = (path: string) => readFileSync(join(folder, path), 'utf8');

const isThere = spawnSync(PYTHON, ['-c', 'import redis.asyncio']).status === 0;
if (!isThere) process.stderr.write(`no ${PYTHON} with redis-py: the Python client is not tested\n`);

describe.skipIf(!isThere && process.env.CI !== 'true')('the Python client', () => {
  let directory: string;
  let server: TestServer;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-python-'));
    server = await startTestServer({ dataDirectory: directory });
  });
  afterAll(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const python = (words: readonly string[]) =>
    runProgram(PYTHON, words, {
      cwd: folder,
      env: {
        ...process.env,
        QUOTADB_PORT: String(server.port),
        PYTHONPATH: join(folder, 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });

  test('passes its own suite', async () => {
    const { code, stderr } = await python(['-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests']);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Ran \d\d+ tests in .*\n\nOK\n$/)]);
  });

  test('does what its README shows', async () => {
    const [first = '', second = ''] = [...read('README.md').matchAll(/```python\n(.*?)```/gs)].map(([, code]) => code);
    const program = `${first}\n${second}\nimport asyncio\nasyncio.run(work())\nprint("done")\n`;
    const { code, stdout, stderr } = await python(['-c', program.replaceAll('6380', String(server.port))]);
    expect([code, stdout, stderr]).toEqual([0, 'done\n', '']);
  });

  test('is published with its types, under the version and license of all packages', () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const project = read('pyproject.toml');
    expect(/^version = "(.*)"$/m.exec(project)?.[1]).toBe(manifest.version);
    expect(project).toContain(`license = { text = "${manifest.license}" }`);
    expect(project).toMatch(/^quotadb = \["py.typed"\]$/m);
    expect(read('src/quotadb/py.typed')).toBe('');
    expect(read('LICENSE')).toBe(readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8'));
  });

  const hasMypy = spawnSync(PYTHON, ['-m', 'mypy', '--version']).status === 0;
  test.skipIf(!hasMypy)('has types that mypy finds nothing to say about', async () => {
    const { code, stdout } = await python(['-m', 'mypy', '--cache-dir', '/dev/null']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('no issues found')]);
  });
});
