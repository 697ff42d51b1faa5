/** Writes the references in docs/ from the tables in the code: npm run generate. A test compares both. */
import { mkdir, writeFile } from 'node:fs/promises';
import { documents } from '@quotadb/server';

const directory = new URL('../docs/', import.meta.url);
await mkdir(directory, { recursive: true });
for (const [name, text] of Object.entries(documents())) {
  await writeFile(new URL(name, directory), text);
  console.log(`docs/${name}`);
}
