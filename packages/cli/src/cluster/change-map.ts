import { createInterface } from 'node:readline/promises';
import type { MapDocument, MapStore, MemberStatement, StoredMap } from '@quotadb/cluster';
import { printJson } from '../terminal/json-output.js';
import { Failure } from '../terminal/run-command.js';

/** Changes by others that come in between, before it is given up. */
const MAXIMUM_ATTEMPTS = 20;

/** A change of the map, and what it comes to, line by line, for the operator. */
export interface Plan {
  readonly document: MapDocument;
  readonly lines: readonly string[];
}

export interface ChangeOptions {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * Shows the plan, asks, and carries it out in one transaction. Where another operator has changed the map meanwhile the
 * change is planned anew, and asked for again only if it comes to something else. `plan` throws a Failure.
 */
export async function changeMap(
  store: MapStore,
  plan: (before: StoredMap) => Plan | Promise<Plan>,
  options: ChangeOptions,
): Promise<void> {
  let shown = '';
  for (let attempt = 0; attempt < MAXIMUM_ATTEMPTS; attempt++) {
    // Statements first: what changes in between is in the map.
    const statements = await store.members();
    const before = await readExisting(store);
    const outdated = sayOutdated(before, statements);
    if (outdated !== undefined) throw new Failure(outdated);
    const { document, lines } = await plan(before);
    const text = lines.join('\n');
    if (text !== shown) await confirm(text, options);
    shown = text;
    const after = { ...document, revision: before.document.revision + 1 };
    if (!(await store.replace(before, after))) continue;
    if (options.json) printJson({ revision: after.revision, changes: lines });
    else process.stdout.write(`done: the map has the revision ${after.revision}\n`);
    return;
  }
  throw new Failure('the map is being changed by others all the time: try again');
}

export async function readExisting(store: MapStore): Promise<StoredMap> {
  const found = await store.read();
  if (found === undefined)
    throw new Failure('there is no cluster map in etcd: put the first one there with quotadb cluster init FILE');
  return found;
}

/** Servers take no older map than that which they have. */
export function sayOutdated(
  { document: { revision } }: StoredMap,
  statements: ReadonlyMap<string, MemberStatement>,
): string | undefined {
  const newest = Math.max(...[...statements.values()].map((statement) => statement.revision));
  if (newest <= revision) return undefined;
  return (
    `servers have the map of revision ${newest}, and etcd that of ${revision}: was it restored from a backup? Put ` +
    'the newest cluster-map.json of a --data there with quotadb cluster init FILE --replace'
  );
}

export async function confirm(text: string, { yes, json }: ChangeOptions): Promise<void> {
  if (!json) process.stdout.write(`${text}\n`);
  if (yes) return;
  if (!process.stdin.isTTY || json) throw new Failure('nothing was changed: say --yes to do it');
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await questions.question('Do it? [y/N] ');
  questions.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('nothing was changed');
}
