import type { IncomingMessage, ServerResponse } from 'node:http';
import type { QuotaDetails, Snapshot } from '@quotadb/dashboard';
import { Engine } from '@quotadb/engine';
import { MAXIMUM_SUBJECT_BYTES } from '@quotadb/quota';
import type { Logger } from 'pino';
import type { HttpAccess } from '../access/bearer.js';
import { Need } from '../access/roles.js';
import type { User } from '../access/user.js';
import { type Configuration, settingNames, settingOf } from '../config/table.js';
import { letIn } from '../http/guard.js';
import { send } from '../http/health.js';
import { describeKey, findKeys, type KeysView } from './look-at-keys.js';
import { sendPage } from './send-page.js';
import type { SnapshotTaker } from './take-snapshot.js';

/**
 * The dashboard of one server.
 *
 *   GET /dashboard, /dashboard/assets/…       the page; open to all, there is nothing in it
 *   GET /api/v1/dashboard/sources             where its figures come from
 *   GET /api/v1/dashboard/events              a snapshot a second, as server-sent events
 *   GET /api/v1/dashboard/keys?match&cursor   keys; /keys/{key} one of them, closely
 *   GET /api/v1/dashboard/quotas/{name}?subject   where the tokens of a subject are
 *   GET /api/v1/dashboard/configuration       settings, without secrets
 *
 * Figures need the role read and configuration admin. Nothing here changes anything, and a token travels in a header that
 * no other site can make a browser send.
 */
export interface DashboardOptions {
  readonly config: Configuration;
  readonly access: HttpAccess;
  readonly snapshots: SnapshotTaker;
  readonly keys: KeysView;
  readonly share: () => Promise<void>;
  /** Undefined where there is no such quota. */
  readonly quota: (name: string, subject: Uint8Array) => QuotaDetails | undefined;
  readonly logger: Logger;
}

const API = '/api/v1/dashboard/';
const PAGE = /^\/dashboard(?:\/(.*))?$/;
const SNAPSHOT_INTERVAL_MS = 1000;
/** Pages that are open at once; each costs a connection and a message a second. */
const MAXIMUM_LISTENERS = 100;
/** A page that does not read is let go. */
const MAXIMUM_UNSENT_BYTES = 1024 * 1024;
const READ = { bit: Need.read, role: 'read', what: 'figures' } as const;
const ADMINISTER = { bit: Need.admin, role: 'admin', what: 'settings' } as const;
const CURSOR = /^\d{0,20}$/;

export class DashboardEndpoint {
  private readonly options: DashboardOptions;
  /** And whether they may see all keys. */
  private readonly listeners = new Map<ServerResponse, boolean>();
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(options: DashboardOptions) {
    this.options = options;
  }

  /** False where the address is none of its own. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const [path, query] = splitUrl(request.url ?? '/');
    const page = PAGE.exec(path);
    if (page === null && !path.startsWith(API)) return false;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, { code: 'method_not_allowed', error: 'only GET is served here' });
    } else if (page !== null) {
      sendPage(response, page[1]);
    } else {
      this.answer(request, response, path.slice(API.length), query).catch((error: unknown) => {
        this.options.logger.error({ err: error }, 'a request of the dashboard failed');
        if (!response.headersSent) send(response, 500, { code: 'internal_error', error: 'see the log of the server' });
        else response.destroy();
      });
    }
    return true;
  }

  close(): void {
    clearInterval(this.timer);
    for (const listener of this.listeners.keys()) listener.end();
  }

  private async answer(
    request: IncomingMessage,
    response: ServerResponse,
    what: string,
    query: URLSearchParams,
  ): Promise<void> {
    const { access, config } = this.options;
    const need = what === 'configuration' ? ADMINISTER : READ;
    const user = await letIn(request, response, access, need);
    if (user === undefined) return;
    if (what === 'sources') send(response, 200, { sources: [{ region: config.region, base: '' }], isDemo: false });
    else if (what === 'events') this.listen(response, user);
    else if (what === 'configuration') send(response, 200, settingsOf(config));
    else if (what === 'keys' || what.startsWith('keys/')) await this.answerKeys(response, what.slice(5), query, user);
    else if (what.startsWith('quotas/')) await this.answerQuota(response, what.slice(7), query, user);
    else send(response, 404, { code: 'no_such_path', error: 'no such path' });
  }

  private async answerQuota(response: ServerResponse, name: string, query: URLSearchParams, user: User): Promise<void> {
    const quota = decode(name)?.toString('utf8');
    const subject = Buffer.from(query.get('subject') ?? '');
    if (quota === undefined || subject.length > MAXIMUM_SUBJECT_BYTES) {
      send(response, 400, { code: 'bad_subject', error: 'the name is not percent-encoded, or the subject too long' });
      return;
    }
    if (user.hasPrefixes && !user.mayTouch(subject, 0, subject.length)) {
      send(response, 403, { code: 'forbidden', error: 'this user may not see that subject' });
      return;
    }
    await this.options.share();
    const details = this.options.quota(quota, subject);
    if (details === undefined) send(response, 404, { code: 'no_such_quota', error: 'there is no such quota' });
    else send(response, 200, details);
  }

  private async answerKeys(response: ServerResponse, name: string, query: URLSearchParams, user: User): Promise<void> {
    const key = decode(name);
    const cursor = query.get('cursor') ?? '';
    if (key === undefined || key.length > Engine.MAX_KEY_BYTES || !CURSOR.test(cursor)) {
      send(response, 400, {
        code: 'bad_key',
        error: 'the key is not percent-encoded or too long, or the cursor wrong',
      });
      return;
    }
    if (name !== '' && user.hasPrefixes && !user.mayTouch(key, 0, key.length)) {
      send(response, 403, { code: 'forbidden', error: 'this user may not see that key' });
      return;
    }
    await this.options.share();
    const { keys } = this.options;
    const found = name === '' ? findKeys(keys, query.get('match') ?? '*', cursor, user) : describeKey(keys, key);
    send(response, 200, found);
  }

  private listen(response: ServerResponse, user: User): void {
    if (this.listeners.size >= MAXIMUM_LISTENERS) {
      send(response, 503, { code: 'too_many_pages', error: `${MAXIMUM_LISTENERS} pages are open already` });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.listeners.set(response, !user.hasPrefixes);
    response.on('close', () => {
      this.listeners.delete(response);
      if (this.listeners.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    });
    this.timer ??= setInterval(() => void this.tell(), SNAPSHOT_INTERVAL_MS);
    void this.tell();
  }

  /** One snapshot for all who listen. */
  private async tell(): Promise<void> {
    try {
      const snapshot = await this.options.snapshots.take();
      const text = eventOf(snapshot);
      for (const [listener, seesAllKeys] of this.listeners) {
        if (listener.writableLength > MAXIMUM_UNSENT_BYTES) listener.destroy();
        else listener.write(seesAllKeys ? text : eventOf(withoutKeys(snapshot)));
      }
    } catch (error) {
      this.options.logger.error({ err: error }, 'no snapshot could be taken for the dashboard');
    }
  }
}

function eventOf(snapshot: Snapshot): string {
  return `data: ${JSON.stringify(snapshot)}\n\n`;
}

/** For users who may see some keys only. */
function withoutKeys(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    slowCommands: [],
    rates: { ...snapshot.rates, hottest: [] },
    quotas: snapshot.quotas.map((quota) => ({ ...quota, subjects: [] })),
  };
}

function settingsOf(config: Configuration): readonly { name: string; value: string }[] {
  return settingNames
    .filter((name) => settingOf(name).secret !== true)
    .map((name) => ({ name: `--${settingOf(name).flag}`, value: settingOf(name).kind.show(config[name] as never) }));
}

function splitUrl(url: string): [path: string, query: URLSearchParams] {
  const at = url.indexOf('?');
  return at === -1 ? [url, new URLSearchParams()] : [url.slice(0, at), new URLSearchParams(url.slice(at + 1))];
}

function decode(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text));
  } catch {
    return undefined;
  }
}
