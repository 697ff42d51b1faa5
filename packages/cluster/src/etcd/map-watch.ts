import { DocumentError, printMistakes } from '@quotadb/wire/documents';
import { readStoredDocument } from '../map/read-map.js';
import type { StoredMap } from '../store/map-store.js';
import type { KeyValue } from './answers.js';
import type { Etcd } from './etcd-client.js';
import type { Clocks } from './lease.js';

const FIRST_PAUSE_MS = 50;
/** Twice as long after each failure, up to this. */
const LONGEST_PAUSE_MS = 1000;
/** After this it is found out that etcd's member has forgotten the stream, or is cut off from the others. */
const CHECK_MS = 3000;

export interface MapWatchOptions {
  readonly client: Etcd;
  readonly clocks: Clocks;
  readonly key: string;
  readonly changed: (map: StoredMap) => void;
  /** The mistakes of a map that was put there by other means; the one before stays in force. */
  readonly refused: (mistakes: readonly string[]) => void;
  readonly troubled: (reason: string | undefined) => void;
  readonly checkMs?: number;
}

/** Reports every newer map, none twice. After a gap of any kind it reads the newest one, and goes on from there. */
export class MapWatch {
  private readonly options: MapWatchOptions;
  /** The version that was reported last. */
  private reported = 0;
  private isStopped = false;
  private interrupt: () => void = () => undefined;

  constructor(options: MapWatchOptions) {
    this.options = options;
    void this.run();
  }

  stop(): void {
    this.isStopped = true;
    this.interrupt();
  }

  private async run(): Promise<void> {
    const { client, key, troubled, clocks } = this.options;
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.isStopped) {
      try {
        const { revision, found } = await client.get(key);
        if (this.isStopped) return;
        troubled(undefined);
        // No stream runs now, so this is the newest; it may have a lower version where etcd was restored.
        if (found !== undefined && found.mod_revision !== this.reported) this.tell(found);
        const startedAt = clocks.monotonicMs();
        await this.follow(revision + 1);
        if (clocks.monotonicMs() - startedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        if (this.isStopped) return;
        troubled((error as Error).message);
      }
      await this.pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Until the stream ends, or has missed a map. */
  private async follow(fromRevision: number): Promise<void> {
    const { client, key, clocks, checkMs = CHECK_MS } = this.options;
    const stream = await client.watch(key, fromRevision, (found) => {
      if (!this.isStopped && found.mod_revision > this.reported) this.tell(found);
    });
    this.interrupt = () => stream.close();
    if (this.isStopped) stream.close();
    let endChecks: () => void = () => undefined;
    const checkLater = (): void => {
      endChecks = clocks.after(checkMs, () => {
        checkLater();
        void this.check(stream);
      });
    };
    checkLater();
    await stream.ended;
    endChecks();
    if (!this.isStopped) client.preferAnother();
  }

  private async check(stream: { close(): void }): Promise<void> {
    const { client, key, troubled } = this.options;
    try {
      const { found } = await client.get(key);
      troubled(undefined);
      if (found !== undefined && found.mod_revision !== this.reported) stream.close();
    } catch (error) {
      if (!this.isStopped) troubled((error as Error).message);
    }
  }

  private tell(found: KeyValue): void {
    const { changed, refused } = this.options;
    this.reported = found.mod_revision;
    try {
      changed(storedMap(found));
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      refused(printMistakes(error.mistakes));
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const callOff = this.options.clocks.after(ms, resolve);
      this.interrupt = () => {
        callOff();
        resolve();
      };
      if (this.isStopped) this.interrupt();
    });
  }
}

/** Throws a DocumentError with the mistakes of a map that was put there by other means. */
export function storedMap({ value, mod_revision: version }: KeyValue): StoredMap {
  return { document: readStoredDocument(value.toString()), version };
}
