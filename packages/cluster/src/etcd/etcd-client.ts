import { answers, type KeyValue } from './answers.js';
import { Code, EtcdRefused } from './errors.js';
import { Gateway, type GatewayOptions } from './gateway.js';
import type { LineStream } from './http.js';

/** A key has to be in this state, or a transaction does nothing; 0 where it must not be there. */
export interface Fence {
  readonly key: string;
  readonly field: 'mod_revision' | 'create_revision';
  readonly revision: number;
}

export interface TransactionResult {
  readonly isDone: boolean;
  /** Of etcd, when the transaction ran. */
  readonly revision: number;
  /** The key that was to be put, where the transaction was not done and the key is there. */
  readonly found: KeyValue | undefined;
  readonly mayHaveRunBefore: boolean;
}

export interface Grant {
  readonly id: string;
  readonly seconds: number;
}

export interface KeptLease {
  /** For how long it lives from now on; 0 where it does not any more. */
  readonly seconds: number;
  /** Of etcd, as the member that was asked knows it. */
  readonly revision: number | undefined;
}

/** The parts of etcd's API that the map needs. */
export type Etcd = Pick<EtcdClient, Exclude<keyof EtcdClient, 'gateway'>>;

/** Over etcd's JSON gateway, which it has from version 3.4 on at /v3. */
export class EtcdClient {
  private readonly gateway: Gateway;

  constructor(options: GatewayOptions) {
    this.gateway = new Gateway(options);
  }

  /** Of a key, as it is at the time of asking in all of etcd; with the revision of etcd then. */
  async get(key: string): Promise<{ readonly revision: number; readonly found: KeyValue | undefined }> {
    const { value } = await this.gateway.call('/v3/kv/range', { key: encode(key) }, answers.range);
    return { revision: value.header.revision, found: value.kvs[0] };
  }

  /** All keys that begin with a text, which ends with a slash. */
  async list(prefix: string): Promise<readonly KeyValue[]> {
    const end = `${prefix.slice(0, -1)}0`;
    const body = { key: encode(prefix), range_end: encode(end) };
    return (await this.gateway.call('/v3/kv/range', body, answers.range)).value.kvs;
  }

  /** Puts or deletes one key if all fences hold. */
  async change(
    fences: readonly Fence[],
    key: string,
    value: string | undefined,
    lease?: string,
  ): Promise<TransactionResult> {
    const target = encode(key);
    const change =
      value === undefined
        ? { request_delete_range: { key: target } }
        : { request_put: { key: target, value: encode(value), ...(lease !== undefined && { lease }) } };
    const body = {
      compare: fences.map(({ key: fenced, field, revision }) => ({
        key: encode(fenced),
        target: field === 'mod_revision' ? 'MOD' : 'CREATE',
        result: 'EQUAL',
        [field]: String(revision),
      })),
      success: [change],
      failure: [{ request_range: { key: target } }],
    };
    const { value: answer, mayHaveRunBefore } = await this.gateway.call('/v3/kv/txn', body, answers.transaction);
    const { succeeded, header, responses } = answer;
    return {
      isDone: succeeded,
      revision: header.revision,
      found: succeeded ? undefined : responses[0]?.response_range?.kvs[0],
      mayHaveRunBefore,
    };
  }

  async grantLease(seconds: number): Promise<Grant> {
    const { value } = await this.gateway.call('/v3/lease/grant', { TTL: String(seconds) }, answers.grant);
    return { id: value.ID, seconds: value.TTL };
  }

  async keepLease(id: string): Promise<KeptLease> {
    try {
      const { value } = await this.gateway.call('/v3/lease/keepalive', { ID: id }, answers.keepAlive);
      const { TTL: seconds, header } = value.result;
      return { seconds, revision: header?.revision || undefined };
    } catch (error) {
      if (error instanceof EtcdRefused && error.code === Code.notFound) return { seconds: 0, revision: undefined };
      throw error;
    }
  }

  async revokeLease(id: string): Promise<void> {
    await this.gateway.call('/v3/lease/revoke', { ID: id }, answers.revoke);
  }

  /**
   * Reports every change of a key from a revision of etcd on. The stream ends with whatever is not as it should be: its
   * user reads the key again and begins anew. A deletion is not reported.
   */
  async watch(key: string, fromRevision: number, reported: (found: KeyValue) => void): Promise<LineStream> {
    const body = { create_request: { key: encode(key), start_revision: String(fromRevision) } };
    const stream = await this.gateway.stream('/v3/watch', body, (line) => {
      const events = eventsOf(line);
      if (events === undefined) stream.close();
      else for (const { type, kv } of events) if (type === 'PUT') reported({ create_revision: 0, ...kv } as KeyValue);
    });
    return stream;
  }

  preferAnother(): void {
    this.gateway.preferAnother();
  }

  close(): void {
    this.gateway.close();
  }
}

/** Undefined where a watch has ended, or says what etcd does not. */
function eventsOf(line: string) {
  try {
    const checked = answers.watch.safeParse(JSON.parse(line));
    return checked.success && !checked.data.result.canceled ? checked.data.result.events : undefined;
  } catch {
    return undefined;
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}
