import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** The fields of a package.json that publishing needs. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly type: string;
  readonly repository: Readonly<Record<string, string>>;
  readonly engines: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, Conditions>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Conditions {
  readonly 'quotadb-source': string;
  /** For CommonJS, where a package has it. */
  readonly require?: { readonly types: string; readonly default: string };
  readonly types: string;
  readonly default: string;
}

const folders = readdirSync(join(root, 'packages'));
const manifests = new Map(folders.map((folder) => [folder, readManifest(`packages/${folder}/package.json`)]));
const names = new Set([...manifests.values()].map(({ name }) => name));
const workspace = readManifest('package.json');
const { version } = readManifest('packages/server/package.json');

/** A package.json in that folder says that its files are CommonJS. */
function commonJs(path: string): string {
  return path.replace('./dist/', './commonjs/dist/');
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

describe.each([...manifests])('packages/%s can be published', (folder, manifest) => {
  const isThere = (path: string) => statSync(join(root, 'packages', folder, path), { throwIfNoEntry: false });

  test('with the version, license, module type and engines of all packages, and a description', () => {
    expect(manifest).toMatchObject({ version, license: workspace.license, type: 'module', engines: workspace.engines });
    expect(manifest.description).toMatch(/^\S.{10,}[^.]$/);
  });

  test('with a README under its name, the license of the repository, and keywords', () => {
    const read = (path: string) => readFileSync(join(root, path), 'utf8');
    expect(read(`packages/${folder}/README.md`)).toMatch(new RegExp(`^# ${manifest.name}\n\n\\S`));
    expect(read(`packages/${folder}/LICENSE`)).toBe(read('LICENSE'));
    expect(manifest.keywords.length).toBeGreaterThan(3);
    expect(manifest.keywords).toContain('quotadb');
  });

  test('with the address of its folder in the repository', () => {
    expect(manifest.repository).toEqual({
      type: 'git',
      url: 'git+https://github.com/quotadb/quotadb.git',
      directory: `packages/${folder}`,
    });
  });

  test('with a program or exports; the types and code of an export are built from a source that is there', () => {
    expect(manifest.exports ?? manifest.bin).toBeDefined();
    for (const program of Object.values(manifest.bin ?? {})) expect(isThere(program), program).toBeDefined();
    // Its own place, for files beside the code.
    const { './package.json': manifestPath = './package.json', ...exports } = manifest.exports ?? {};
    expect(manifestPath).toBe('./package.json');
    for (const [name, conditions] of Object.entries(exports)) {
      const source = conditions['quotadb-source'];
      const built = source.replace('./src/', './dist/').replace(/\.ts$/, '');
      expect([name, conditions]).toEqual([
        name,
        {
          'quotadb-source': source,
          ...(conditions.require !== undefined && {
            require: { types: commonJs(`${built}.d.ts`), default: commonJs(`${built}.js`) },
          }),
          types: `${built}.d.ts`,
          default: `${built}.js`,
        },
      ]);
      expect(isThere(source), `${name}: ${source}`).toBeDefined();
    }
  });

  test('with its built files, and without tests, source maps and build state', () => {
    const [shipped, left] = [false, true].map((isLeft) =>
      manifest.files.filter((file) => file.startsWith('!') === isLeft),
    );
    expect(shipped).toContain('dist');
    expect(shipped.filter((file) => file !== 'dist' && isThere(file) === undefined)).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(['!dist/**/*.test.*', '!dist/**/*.map', '!dist/.tsbuildinfo']));
  });

  test('with packages of the same version where it depends on others of the repository', () => {
    const siblings = Object.entries(manifest.dependencies ?? {}).filter(([name]) => names.has(name));
    expect(siblings).toEqual(siblings.map(([name]) => [name, version]));
  });
});

test('the workflow calls scripts of the repository, and nothing else', () => {
  const { jobs } = parse(readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8')) as {
    readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
  };
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands) {
    const [, script] = /^npm (?:run )?([\w:]+)$/.exec(command) ?? [];
    if (script === undefined) expect(statSync(join(root, command)).isFile(), command).toBe(true);
    else expect(['ci', ...Object.keys(workspace.scripts ?? {})]).toContain(script);
  }
});
