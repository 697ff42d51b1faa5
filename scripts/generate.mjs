/** Writes the references in docs/ from the code, and code from .proto files: npm run generate. Tests compare both. */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { documents } from '@quotadb/server';
import { printDescriptors } from '../packages/envoy/dist/definitions/testing/describe-definitions.js';

const directory = new URL('../docs/', import.meta.url);
await mkdir(directory, { recursive: true });
for (const [name, text] of Object.entries(documents())) {
  await writeFile(new URL(name, directory), text);
  console.log(`docs/${name}`);
}

/** The descriptors that gRPC reflection serves, from the .proto files. */
const definitions = new URL('../packages/envoy/src/definitions/', import.meta.url);
await writeFile(new URL('descriptors.ts', definitions), printDescriptors(fileURLToPath(definitions)));
console.log('packages/envoy/src/definitions/descriptors.ts');
