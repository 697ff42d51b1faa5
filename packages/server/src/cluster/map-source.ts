import { type ClusterMap, readMap } from '@quotadb/cluster';
import type { Logger } from 'pino';
import { WatchedFile } from '../files/watched-file.js';

/** A map that cannot be in force yet is tried again after this. */
export const AGAIN_MS = 1000;

/** Puts a map into force; resolves with the reason where that is refused for now. */
export type PutIntoForce = (map: ClusterMap, isAtStart: boolean) => Promise<string | undefined>;

/** Where a running server has its map from: a file of its own, or a store that all members share. */
export interface MapSource {
  /** Resolves when the first map is in force. Rejects where it cannot be. */
  start(): Promise<void>;
  /** Reads again what may have changed. */
  reload(): Promise<void>;
  stop(): Promise<void>;
  /** Says to all members why slots of this one wait; only of a store. */
  note?(waits: string): void;
  readonly figures: {
    /** In the newest map; an earlier one is in force while there are some. */
    readonly mistakes: number;
    /** Whether the store answers; undefined for a file. */
    readonly isReachable: boolean | undefined;
  };
}

/** The map in a file (--cluster-map). */
export function fileSource(path: string, logger: Logger, putIntoForce: PutIntoForce): MapSource {
  const file = new WatchedFile<ClusterMap>({
    path,
    logger,
    inForce: 'the cluster map of the file holds',
    refused: 'the file of the cluster map is not in force, the map stays as it was',
    read: readMap,
    replace: putIntoForce,
    describe: ({ revision, groups }) => ({ revision, groups: groups.length }),
    againMs: AGAIN_MS,
  });
  return {
    async start() {
      const mistakes = await file.start();
      if (mistakes.length > 0) throw new Error(`--cluster-map: ${mistakes.join('; ')}`);
    },
    async reload() {
      await file.reload();
    },
    async stop() {
      file.stop();
    },
    get figures() {
      return { mistakes: file.figures.mistakes, isReachable: undefined };
    },
  };
}
