import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startTestServer } from '../../testing/index.js';
import { onBoth } from './on-both.js';

/** Limiters of other languages, as Debian packages them, each in a small program that prints what its user sees. */

const directory = join(dirname(fileURLToPath(import.meta.url)), 'other-languages');

interface Language {
  readonly program: string;
  /** Ends with 0 where the language and the libraries are there. */
  readonly check: readonly string[];
  readonly packages: string;
}

const PYTHON: Language = {
  program: '/usr/bin/python3',
  check: ['-c', 'import django_redis.exceptions, flask_limiter, limits, redis'],
  packages: 'python3-django-redis python3-flask-limiter python3-redis',
};
const RUBY: Language = {
  program: 'ruby',
  check: ['-e', 'require "redis"; require "rack/attack"'],
  packages: 'ruby-rack-attack ruby-redis',
};
const PHP: Language = {
  program: 'php',
  check: ['-r', 'exit(extension_loaded("redis") && is_dir("/usr/share/php/Illuminate/Redis") ? 0 : 1);'],
  packages: 'php-cli php-redis php-illuminate-cache php-illuminate-redis php-symfony-cache',
};

/** `describe` where the libraries are there. Elsewhere the tests are skipped and say so; in CI they fail. */
function describeIn({ program, check, packages }: Language, name: string, body: () => void): void {
  if (process.env.CI === 'true' || spawnSync(program, check).status === 0) body();
  else describe.skip(`${name} (skipped: needs ${packages})`);
}

async function run({ program }: Language, file: string, port: number): Promise<unknown> {
  const child = spawn(program, [join(directory, file), String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  return code === 0 ? JSON.parse(output) : `ended with ${code}: ${output}`;
}

function inLanguage(language: Language, name: string, file: string, expected: unknown): void {
  describeIn(language, name, () =>
    onBoth(name, { 'does the same on both': { run: (port) => run(language, file, port), expected } }),
  );
}

inLanguage(PYTHON, 'python limits and Flask-Limiter', 'limits_and_flask.py', {
  fixed: [true, true, true, false, false],
  elastic: [true, true, true, false, false],
  remaining: 3,
  test: false,
  'after clear': true,
  reset: 2,
  flask: [200, 200, 429, 429],
});

inLanguage(PYTHON, 'Django with django-redis', 'django_caches.py', {
  'eight threads, a hundred each': 800,
  'ttl is kept': true,
  decr: 790,
  missing: "Key ':1:missing' not found",
  add: [true, false],
  touch: true,
  many: { hits: 790, flag: 1 },
  delete: [true, false],
  incr_version: [2, null, 1],
});

inLanguage(RUBY, 'Rack::Attack', 'rack_attack.rb', {
  throttled: [200, 200, 200, 429, 429],
  banned: [403, 403, 403],
});

inLanguage(PHP, "Laravel's RateLimiter", 'laravel.php', {
  attempts: [true, true, true, false, false],
  'too many': true,
  left: 0,
  'available in': true,
  add: [true, false],
  increment: [1, 6, 5],
  'after clear': true,
});

inLanguage(PHP, 'Symfony over phpredis', 'symfony.php', {
  incr: [1, 5],
  'set nx ex': [true, false],
  ttl: 60,
  eval: 10,
});

describeIn(PYTHON, 'what is not there', () => {
  test('a moving window of python limits, which keeps lists, raises and does not let requests pass', async () => {
    const server = await startTestServer();
    try {
      const [answer, text] = (await run(PYTHON, 'moving_window.py', server.port)) as string[];
      expect(answer).toBe('refused');
      expect(text).toContain('Unknown Redis command called from script');
    } finally {
      await server.stop();
    }
  });
});
