/**
 * Makes a release: node scripts/release.mjs VERSION [--write] [--out DIRECTORY]
 *
 * 1. checks that the version is newer, that CHANGELOG.md has lines under Unreleased, and that nothing is uncommitted;
 * 2. packs every public package under that version, from copies, into DIRECTORY (artifacts/VERSION), with SHA256SUMS;
 * 3. with --write, sets the version in every package.json, in package-lock.json and in the Python client's
 *    pyproject.toml,
 *    and dates the section in CHANGELOG.md.
 *
 * Without --write the repository stays as it is. Neither commits, tags nor publishes: the commands for that are
 * printed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false }, out: { type: 'string' } },
});
const [version] = positionals;
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version ?? '')) {
  fail('Give the version to release, for example: node scripts/release.mjs 0.2.0');
}

const lock = readJson('package-lock.json');
const packages = readdirSync(join(root, 'packages'))
  .map((folder) => ({ path: `packages/${folder}`, manifest: readJson(`packages/${folder}/package.json`) }))
  .filter(({ manifest }) => manifest.private !== true);
const names = new Set(packages.map(({ manifest }) => manifest.name));
const changelog = releasedChangelog();

checkBefore();
const directory = join(root, options.out ?? join('artifacts', version));
const archives = packAll(directory);
if (options.write) writeAll();
report();

function checkBefore() {
  const current = readJson('packages/server/package.json').version;
  if (!isNewer(version, current)) fail(`The version must be newer than ${current}, and is ${version}.`);
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });
  if (options.write && changed !== '') fail(`Commit these changes first:\n${changed}`);
  const unbuilt = packages.filter(({ path }) => !existsSync(join(root, path, 'dist')));
  if (unbuilt.length > 0) fail(`Run npm run build first: ${unbuilt.map(({ path }) => path).join(', ')} has no dist.`);
}

/** CHANGELOG.md with the lines under Unreleased in a section of this version, dated today. */
function releasedChangelog() {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const [, before, changes, after] = /^(.*?\n## Unreleased\n)(.*?)(\n## .*)$/s.exec(text) ?? [];
  if (changes === undefined || changes.trim() === '') fail('CHANGELOG.md has no lines under "## Unreleased".');
  const today = new Date().toISOString().slice(0, 10);
  return `${before}\n## ${version} (${today})\n${changes}${after}`;
}

/** Packs copies that carry the new version, so that the repository is not touched. */
function packAll(destination) {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  const staging = mkdtempSync(join(tmpdir(), 'quotadb-release-'));
  try {
    const packed = packages.map(({ path, manifest }) => {
      const copy = join(staging, path);
      cpSync(join(root, path), copy, { recursive: true, filter: (source) => !/\/(src|node_modules)$/.test(source) });
      writeJson(join(copy, 'package.json'), withVersion(manifest));
      const [{ filename, size, entryCount }] = JSON.parse(
        execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], {
          cwd: copy,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        }),
      );
      const sha256 = createHash('sha256')
        .update(readFileSync(join(destination, filename)))
        .digest('hex');
      return { filename, size, entryCount, sha256 };
    });
    writeFileSync(
      join(destination, 'SHA256SUMS'),
      packed.map(({ filename, sha256 }) => `${sha256}  ${filename}\n`).join(''),
    );
    return packed;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function writeAll() {
  for (const { path, manifest } of packages) {
    writeJson(join(root, path, 'package.json'), withVersion(manifest));
    lock.packages[path] = withVersion(lock.packages[path]);
  }
  writeJson(join(root, 'package-lock.json'), lock);
  const python = join(root, 'clients/python/pyproject.toml');
  writeFileSync(python, readFileSync(python, 'utf8').replace(/^version = ".*"$/m, `version = "${version}"`));
  writeFileSync(join(root, 'CHANGELOG.md'), changelog);
}

function report() {
  for (const { filename, size, entryCount, sha256 } of archives) {
    console.log(`${filename}  ${Math.ceil(size / 1024)} KiB  ${entryCount} files  sha256 ${sha256}`);
  }
  console.log(`\n${archives.length} packages of version ${version} and SHA256SUMS are in ${directory}.`);
  if (!options.write) {
    console.log('Dry run: versions and CHANGELOG.md are unchanged. Add --write to change them.');
    return;
  }
  console.log(`Versions and CHANGELOG.md are changed. To publish:
  git commit --all --message "Release ${version}" && git tag v${version}
  for archive in ${directory}/*.tgz; do npm publish "$archive" --access public; done
  python3 -m build clients/python --outdir ${directory}/python && python3 -m twine upload ${directory}/python/*
  git push --follow-tags`);
}

/** A package.json, or its entry in package-lock.json, with the new version for itself and for its siblings. */
function withVersion(manifest) {
  const sameVersion = (dependencies) =>
    Object.fromEntries(Object.entries(dependencies).map(([name, range]) => [name, names.has(name) ? version : range]));
  return Object.fromEntries(
    Object.entries(manifest).map(([field, value]) => {
      if (field === 'version') return [field, version];
      return [field, /ependencies$/.test(field) ? sameVersion(value) : value];
    }),
  );
}

function isNewer(one, other) {
  const [a, b] = [one, other].map((text) => text.split('-')[0].split('.').map(Number));
  const at = [0, 1, 2].find((place) => a[place] !== b[place]);
  return at === undefined ? !one.includes('-') && other.includes('-') : a[at] > b[at];
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
