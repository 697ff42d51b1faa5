import { readFile } from 'node:fs/promises';
import { type MapDocument, readMapDocument, readStoredDocument } from '@quotadb/cluster';
import { printJson } from '../terminal/json-output.js';
import { Failure } from '../terminal/run-command.js';
import { confirm } from './change-map.js';
import type { StoreCommand } from './store-command.js';

/** `quotadb cluster init`. */
export const runInit: StoreCommand['run'] = async (store, [path], options) => {
  const { json, replace } = options;
  // What servers have kept may have moves.
  const document = readDocumentOf(path, await readFile(path, 'utf8'), replace ? readStoredDocument : readMapDocument);
  const before = replace ? await store.read() : undefined;
  if (before !== undefined) await confirmReplacing(before.document, document, options);
  if (!(await store.replace(before, document))) {
    const { document: there } = (await store.read()) ?? { document };
    throw new Failure(`etcd has a cluster map already, of revision ${there.revision}: quotadb cluster status shows it`);
  }
  const groups = Object.keys(document.groups);
  if (json) printJson({ revision: document.revision, groups });
  else process.stdout.write(`etcd has the map of revision ${document.revision}: ${groups.join(', ')}\n`);
  return undefined;
};

async function confirmReplacing(
  { revision }: MapDocument,
  document: MapDocument,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (revision >= document.revision)
    throw new Failure(`etcd has the map of revision ${revision}, and the file that of ${document.revision}: not newer`);
  await confirm(`the map of revision ${revision} in etcd gives way to that of ${document.revision}`, options);
}

function readDocumentOf(path: string, text: string, read: (text: string) => MapDocument): MapDocument {
  try {
    return read(text);
  } catch (error) {
    throw new Failure(`${path}: ${(error as Error).message}`);
  }
}
