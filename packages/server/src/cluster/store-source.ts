import { type ClusterMap, type MapDocument, type MapStore, mapOf, type StoredMap } from '@quotadb/cluster';
import type { Logger } from 'pino';
import type { KeptMap } from './kept-map.js';
import { AGAIN_MS, type MapSource, type PutIntoForce } from './map-source.js';

export interface StoreSourceOptions {
  readonly store: MapStore;
  readonly kept: KeptMap;
  readonly logger: Logger;
  /** The id of this node, under which it says which revision is in force. */
  readonly member: string;
  readonly putIntoForce: PutIntoForce;
  /** Resolves when every command that began before is done; false where the map was over before. */
  readonly settle: (map: ClusterMap, isOver: () => boolean) => Promise<boolean>;
  /** Reads the certificates for the store again. */
  readonly reload: () => void;
  /** What to run where there is no map yet. */
  readonly hint: string;
}

const MAXIMUM_NOTE = 300;

/** The map in a store that all members share (--etcd). */
export class StoreSource implements MapSource {
  private readonly options: StoreSourceOptions;
  private inForce: MapDocument | undefined = undefined;
  /** Not in force yet. */
  private newest: StoredMap | undefined = undefined;
  private work: Promise<void> = Promise.resolve();
  private again: NodeJS.Timeout | undefined = undefined;
  private endWatch: () => void = () => undefined;
  /** The last reason for waiting that was logged: it is not logged again. */
  private reported = '';
  private trouble: string | undefined = undefined;
  private mistakes: readonly string[] = [];
  private isStopped = false;
  /** The revision that was stated last. */
  private stated = 0;
  private waits = '';

  constructor(options: StoreSourceOptions) {
    this.options = options;
  }

  /** Waits for a map for as long as it takes, and says for what. */
  async start(): Promise<void> {
    const { store } = this.options;
    while (this.inForce === undefined) {
      if (this.isStopped) throw new Error('the server is stopping');
      const document = await this.findFirst();
      const refused = document && (await this.apply(document, true));
      if (refused !== undefined) this.wait(`the cluster map of revision ${document?.revision}: ${refused}`);
      if (this.inForce === undefined) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    this.endWatch = store.watch((map) => this.receive(map));
  }

  async reload(): Promise<void> {
    this.options.reload();
    this.reported = '';
    this.takeNewest();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.again);
    this.endWatch();
    await this.options.store.stop();
  }

  get figures() {
    return { mistakes: this.mistakes.length, isReachable: this.trouble === undefined };
  }

  /** With the reason while the store cannot be reached. */
  troubled(reason: string | undefined): void {
    const { logger } = this.options;
    this.trouble = reason;
    if (reason === undefined) logger.info('etcd answers again: changes of the cluster map come into force');
    else logger.warn({ reason }, 'etcd is away: the cluster map that is known holds, and changes of it wait');
  }

  /** Of a map that was put there by other means. */
  refused(mistakes: readonly string[]): void {
    this.mistakes = mistakes;
    if (mistakes.length > 0)
      this.options.logger.error(
        { mistakes },
        'the cluster map in etcd is refused, the map stays as it was: correct it',
      );
  }

  /** That of the store; while there is none, or an older one, that which was last in force here. */
  private async findFirst(): Promise<MapDocument | undefined> {
    const { store, kept, hint } = this.options;
    const known = kept.load();
    let reason = `there is no cluster map in etcd: ${hint}`;
    try {
      const found = await store.read();
      this.trouble = undefined;
      if (found !== undefined && found.document.revision >= (known?.revision ?? 0)) return found.document;
      if (found !== undefined)
        reason = `the cluster map in etcd has revision ${found.document.revision}, which is older: was etcd restored?`;
    } catch (error) {
      reason = (error as Error).message;
      this.trouble = reason;
    }
    if (known === undefined) this.wait(reason);
    else this.report(`the start takes the map of revision ${known.revision} from ${kept.path}: ${reason}`);
    return known;
  }

  private receive(map: StoredMap): void {
    this.newest = map;
    this.takeNewest();
  }

  /** One after another, and of several that came meanwhile only the newest. */
  private takeNewest(): void {
    clearTimeout(this.again);
    this.work = this.work.then(async () => {
      const { newest } = this;
      if (newest === undefined || this.isStopped) return;
      const refused = await this.apply(newest.document, false);
      if (refused === undefined) {
        if (this.newest === newest) this.newest = undefined;
        return;
      }
      this.mistakes = [refused];
      this.report(`the cluster map of revision ${newest.document.revision} is not in force: ${refused}`);
      clearTimeout(this.again);
      this.again = setTimeout(() => this.takeNewest(), AGAIN_MS);
      this.again.unref();
    });
  }

  /** Members state a revision only when no command is running that began under an older one. */
  private async apply(document: MapDocument, isAtStart: boolean): Promise<string | undefined> {
    const { putIntoForce, settle, kept, logger } = this.options;
    if (JSON.stringify(document) === JSON.stringify(this.inForce)) {
      // It is there again, in place of one that was refused.
      this.mistakes = [];
      this.reported = '';
      return undefined;
    }
    const map = mapOf(document);
    const refused = await putIntoForce(map, isAtStart);
    if (refused !== undefined) return refused;
    this.inForce = document;
    this.mistakes = [];
    this.reported = '';
    const { revision, groups } = document;
    logger.info({ revision, groups: Object.keys(groups).length }, 'the cluster map of etcd holds');
    // What it states it must know after a restart too: another group may own the slots that it has let go by then.
    if (!kept.save(document)) return undefined;
    const isOver = () => this.isStopped || (this.newest !== undefined && this.newest.document.revision > revision);
    if (!(await settle(map, isOver))) return undefined;
    this.stated = revision;
    await this.announce();
    return undefined;
  }

  /** Says with the revision why slots that are to move do not; nothing where they do. */
  note(waits: string): void {
    this.waits = waits.slice(0, MAXIMUM_NOTE);
    this.work = this.work.then(() => this.announce());
  }

  /** Where etcd is away the statement is sent when it is back; the log has a line about that already. */
  private async announce(): Promise<void> {
    const { store, member } = this.options;
    if (this.stated === 0 || this.isStopped) return;
    const note = this.waits === '' ? {} : { waits: this.waits };
    await store.announce(member, { revision: this.stated, ...note }).catch(() => undefined);
  }

  private wait(reason: string): void {
    this.report(`the start waits: ${reason}`);
  }

  private report(line: string): void {
    if (line !== this.reported) this.options.logger.warn(line);
    this.reported = line;
  }
}
