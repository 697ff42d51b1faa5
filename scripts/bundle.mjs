/**
 * Puts the program and its threads into a few files each, with the code of other projects that they use. Of a start,
 * most of the time was spent on opening a thousand small files, once in every thread.
 *
 *   packages/cli/dist/bundle/main.js                  what bin/quotadb.js runs
 *   packages/resp/dist/bundle/lane-worker.js          what every lane runs
 *   packages/storage/dist/bundle/restore-worker.js    a thread that restores shards from the disk
 *   …/dist/bundle/LICENSES                            of the projects whose code is in these files
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Native, installed apart, or needed by few commands: these stay where they are installed. */
const APART = ['koffi', '@quotadb/bench', '@quotadb/simulator', '@quotadb/replication/certificates'];
/** pg asks for it where a program uses `pg.native`. */
const ABSENT = 'pg-native';
/** Modules of ours that are loaded for what they do, not for what they export. */
const WITH_EFFECT = /\/dispose-symbol\.js$/;

await bundle('packages/cli', 'dist/main.js');
await bundle('packages/resp', 'dist/lanes/lane-worker.js');
await bundle('packages/storage', 'dist/recovery/restore-worker.js');

async function bundle(folder, entry) {
  const build = await rolldown({
    input: join(root, folder, entry),
    platform: 'node',
    external: [...APART, ABSENT],
    treeshake: { moduleSideEffects: (id) => id.includes('/node_modules/') || WITH_EFFECT.test(id) },
  });
  const dir = join(root, folder, 'dist/bundle');
  const { output } = await build.write({ dir, cleanDir: true, format: 'esm', entryFileNames: '[name].js' });
  await build.close();
  const allowed = new Set([...APART, ABSENT, ...output.map(({ fileName }) => fileName)]);
  const imported = output.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const unknown = imported.filter((id) => !isBuiltin(id) && !allowed.has(id));
  if (unknown.length > 0) throw new Error(`the bundle of ${folder} imports ${unknown.join(', ')}`);
  writeFileSync(join(dir, 'LICENSES'), licensesOf(output.flatMap(({ modules }) => Object.keys(modules))));
}

function licensesOf(modules) {
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []));
  return [...folders].sort().map(licenseOf).join('\n');
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
  return `${name} ${version}, ${license}\n\n${text.trim()}\n`;
}
