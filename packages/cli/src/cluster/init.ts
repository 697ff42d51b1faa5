import { readFile } from 'node:fs/promises';
import { readMapDocument } from '@quotadb/cluster';
import { printJson } from '../terminal/json-output.js';
import { Failure } from '../terminal/run-command.js';
import type { StoreCommand } from './store-command.js';

/** `quotadb cluster init`. */
export const runInit: StoreCommand['run'] = async (store, [path], { json }) => {
  const document = readDocumentOf(path, await readFile(path, 'utf8'));
  if (!(await store.replace(undefined, document))) {
    const { document: there } = (await store.read()) ?? { document };
    throw new Failure(`etcd has a cluster map already, of revision ${there.revision}: quotadb cluster status shows it`);
  }
  const groups = Object.keys(document.groups);
  if (json) printJson({ revision: document.revision, groups });
  else process.stdout.write(`etcd has the map of revision ${document.revision}: ${groups.join(', ')}\n`);
  return undefined;
};

function readDocumentOf(path: string, text: string): ReturnType<typeof readMapDocument> {
  try {
    return readMapDocument(text);
  } catch (error) {
    throw new Failure(`${path}: ${(error as Error).message}`);
  }
}
