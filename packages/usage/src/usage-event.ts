import { createHash } from 'node:crypto';
import type { LimitWindow } from '@quotadb/quota';
import type { QuotaWindow } from './quota-usage-key.js';

/** Of a quota, and of a limit with a fixed window. */
const USAGE_EVENT_TYPES = { quota: 'quotadb.quota.used', limit: 'quotadb.limit.used' } as const;

/** An event of CloudEvents 1.0 in JSON. `source` and `id` together are the same whenever it is sent again. */
export interface UsageEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: (typeof USAGE_EVENT_TYPES)[keyof typeof USAGE_EVENT_TYPES];
  /** Left out where the subject is empty, as the standard has it. */
  readonly subject?: string;
  /** The last millisecond of the window: inside it, also where a reader sorts by time. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: {
    /** The name of the one or the other. */
    readonly quota?: string;
    readonly limit?: string;
    readonly region: string;
    readonly windowStart: string;
    readonly windowEnd: string;
    readonly used: number;
    /** Where the subject is not UTF-8: its bytes. */
    readonly subjectBase64?: string;
  };
}

export interface EventFacts {
  readonly cluster: string;
  readonly region: string;
  /** The name of the quota, or of the limit. */
  readonly name: string;
  readonly window: QuotaWindow | LimitWindow;
  readonly used: number;
  /** See Unexported. */
  readonly mark: string;
}

/** Enough that no two subjects of a quota share one. */
const DIGEST_CHARACTERS = 16;

export function usageEvent({ cluster, region, name, window, used, mark }: EventFacts): UsageEvent {
  const { startMs, endMs, subject } = window;
  const text = textOf(subject);
  const kind = 'limit' in window ? 'limit' : 'quota';
  const subjectText = text ?? Buffer.from(subject).toString('base64');
  return {
    specversion: '1.0',
    id: `${beginningOfId(window)}-${mark}`,
    source: `quotadb/${encodeURIComponent(cluster)}/${encodeURIComponent(region)}`,
    type: USAGE_EVENT_TYPES[kind],
    ...(subjectText !== '' && { subject: subjectText }),
    time: new Date(endMs - 1).toISOString(),
    datacontenttype: 'application/json',
    data: {
      [kind]: name,
      region,
      windowStart: new Date(startMs).toISOString(),
      windowEnd: new Date(endMs).toISOString(),
      used,
      ...(text === undefined && { subjectBase64: subjectText }),
    },
  };
}

/** A limit is known by its name, and its window may be changed; a quota that is changed gets another number. */
function beginningOfId(window: QuotaWindow | LimitWindow): string {
  const { startMs, endMs, subject } = window;
  if ('policy' in window) return `${window.policy}-${startMs}-${digestOf(subject)}`;
  return `limit-${startMs}-${endMs}-${digestOf(window.limit, '\0', subject)}`;
}

function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url').slice(0, DIGEST_CHARACTERS);
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function textOf(subject: Uint8Array): string | undefined {
  try {
    return decoder.decode(subject);
  } catch {
    return undefined;
  }
}
