import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MapDocument, MapStore, StoredMap } from '@quotadb/cluster';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptMap } from './kept-map.js';
import { StoreSource } from './store-source.js';

/** A store whose answers the test decides. */
class GivenStore implements MapStore {
  map: StoredMap | undefined = undefined;
  failure: string | undefined = undefined;
  readonly steps: string[];
  private changed: (map: StoredMap) => void = () => undefined;

  constructor(steps: string[]) {
    this.steps = steps;
  }

  give(document: MapDocument): void {
    this.map = { document, version: (this.map?.version ?? 0) + 1 };
    this.changed(this.map);
  }

  async read(): Promise<StoredMap | undefined> {
    if (this.failure !== undefined) throw new Error(this.failure);
    return this.map;
  }

  watch(changed: (map: StoredMap) => void): () => void {
    this.changed = changed;
    if (this.map !== undefined && this.failure === undefined) changed(this.map);
    return () => {
      this.changed = () => undefined;
    };
  }

  async announce(member: string, { revision }: { readonly revision: number }): Promise<void> {
    this.steps.push(`${member} states ${revision}`);
    if (this.failure !== undefined) throw new Error(this.failure);
  }

  replace = async () => false;
  members = async () => new Map();
  lock = async () => undefined;
  stop = async () => undefined;
}

const documentOf = (revision: number): MapDocument => ({
  revision,
  groups: { red: { slots: '0-16383', members: [{ region: 'eu', host: '127.0.0.1', port: 6381 }] } },
});

let directory: string;
let steps: string[];
let lines: string[];
let store: GivenStore;
let source: StoreSource;
let refusal: string | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-store-source-'));
  [steps, lines, refusal] = [[], [], undefined];
  store = new GivenStore(steps);
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  source = new StoreSource({
    store,
    kept: new KeptMap(directory, logger),
    logger,
    member: 'me',
    putIntoForce: async ({ revision }, isAtStart) => {
      if (refusal === undefined) steps.push(`${isAtStart ? 'first' : 'then'} ${revision}`);
      return refusal;
    },
    settle: async () => {
      steps.push('settled');
      return true;
    },
    reload: () => undefined,
    hint: 'run init',
  });
});

afterEach(async () => {
  await source.stop();
  rmSync(directory, { recursive: true });
});

const keptRevision = () => JSON.parse(readFileSync(join(directory, 'cluster-map.json'), 'utf8')).revision;
const keep = (document: unknown) => writeFileSync(join(directory, 'cluster-map.json'), JSON.stringify(document));

test('a revision is stated when it is in force and commands under older ones are done, and is kept', async () => {
  store.give(documentOf(1));
  await source.start();
  store.give(documentOf(2));
  await expect.poll(() => steps.at(-1)).toBe('me states 2');
  expect(steps).toEqual(['first 1', 'settled', 'me states 1', 'then 2', 'settled', 'me states 2']);
  expect(keptRevision()).toBe(2);
});

test('a start waits for a map, once with a line that says what to run, and for one that can be in force', async () => {
  const started = source.start();
  await expect.poll(() => lines).toEqual(['the start waits: there is no cluster map in etcd: run init']);
  refusal = 'this server is not in it';
  store.give(documentOf(1));
  await expect
    .poll(() => lines.at(-1))
    .toBe('the start waits: the cluster map of revision 1: this server is not in it');
  refusal = undefined;
  store.give(documentOf(2));
  await started;
  expect(steps).toEqual(['first 2', 'settled', 'me states 2']);
});

test('a stop ends the wait of a start', async () => {
  const started = source.start();
  started.catch(() => undefined);
  await source.stop();
  await expect(started).rejects.toThrow('the server is stopping');
});

test('without the store a start takes the map that was kept', async () => {
  keep(documentOf(7));
  store.failure = 'away';
  await source.start();
  expect(lines[0]).toMatch(/^the start takes the map of revision 7 from .*cluster-map\.json: away$/);
  expect(source.figures.isReachable).toBe(false);
  expect(steps).toEqual(['first 7', 'settled', 'me states 7']);
});

test('a store that was restored from a backup does not bring back an older map', async () => {
  keep(documentOf(7));
  store.give(documentOf(5));
  refusal = undefined;
  await source.start();
  expect(steps[0]).toBe('first 7');
  expect(lines[0]).toContain('which is older: was etcd restored?');
});

test('an older map in the store is refused until the one in force is put back', async () => {
  store.give(documentOf(7));
  await source.start();
  refusal = 'its revision 5 is older';
  store.give(documentOf(5));
  await expect.poll(() => source.figures.mistakes).toBe(1);
  store.give(documentOf(7));
  await expect.poll(() => source.figures.mistakes).toBe(0);
  expect(steps.filter((step) => step === 'then 7')).toEqual([]);
});

test('a kept map that is damaged is not taken', async () => {
  keep({ revision: 'none' });
  store.failure = 'away';
  const started = source.start();
  await expect.poll(() => lines.at(-1)).toBe('the start waits: away');
  store.failure = undefined;
  store.give(documentOf(1));
  await started;
  expect(steps[0]).toBe('first 1');
});

test('a map that is refused for now is tried again, and given up for a newer one', async () => {
  store.give(documentOf(1));
  await source.start();
  refusal = 'another group has the slots';
  store.give(documentOf(2));
  await expect.poll(() => source.figures.mistakes).toBe(1);
  expect(lines.at(-1)).toBe('the cluster map of revision 2 is not in force: another group has the slots');
  refusal = undefined;
  await expect.poll(() => steps.at(-1), { timeout: 5000 }).toBe('me states 2');
  expect(source.figures.mistakes).toBe(0);
  refusal = 'no';
  store.give(documentOf(3));
  await expect.poll(() => source.figures.mistakes).toBe(1);
  refusal = undefined;
  store.give(documentOf(4));
  await expect.poll(() => steps.at(-1), { timeout: 5000 }).toBe('me states 4');
  expect(steps).not.toContain('then 3');
});
