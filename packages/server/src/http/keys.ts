import type { IncomingMessage, ServerResponse } from 'node:http';
import { ByteInput, Engine, joinInt64 } from '@quotadb/engine';
import type { HttpAccess } from '../access/bearer.js';
import { Need } from '../access/roles.js';
import type { User } from '../access/user.js';
import type { Clock } from '../clock.js';
import { errors } from '../errors.js';
import type { LaneReplication } from '../services/lane-replication.js';
import { letIn } from './guard.js';
import { send } from './health.js';

const PATH = /^\/api\/v1\/keys\/([^/?]+)(?:\?(.*))?$/;
/** As in RESP: an integer up to 2^53. */
const MAXIMUM_AGE = /^\d{1,15}$/;

export interface KeysOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly access: HttpAccess;
  readonly replication: LaneReplication;
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
}

/**
 * `GET /api/v1/keys/{key}?maxAgeMs=…`: the value of a counter, and how old the views of other regions are that it is made
 * of. With a bound, 412 where one is older. Values are texts: JSON's numbers end at 2^53.
 */
export class KeysEndpoint {
  private readonly options: KeysOptions;

  constructor(options: KeysOptions) {
    this.options = options;
  }

  /** False where the address is none of its own. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const match = PATH.exec(request.url ?? '');
    if (match === null) return false;
    void this.answer(request, response, match[1], new URLSearchParams(match[2] ?? ''));
    return true;
  }

  private async answer(
    request: IncomingMessage,
    response: ServerResponse,
    encodedKey: string,
    query: URLSearchParams,
  ): Promise<void> {
    const key = decode(encodedKey);
    const maximumAge = query.get('maxAgeMs');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, { code: 'method_not_allowed', error: 'only GET is served here' });
      return;
    }
    const need = { bit: Need.read, role: 'read', what: 'counters' };
    const user = await letIn(request, response, this.options.access, need);
    if (user === undefined) return;
    if (key === undefined || key.length > Engine.MAX_KEY_BYTES) {
      send(response, 400, { code: 'bad_key', error: 'the key is not percent-encoded, or too long' });
    } else if (!mayTouch(user, key)) {
      send(response, 403, { code: 'forbidden', error: 'this user may not see that key' });
    } else if (maximumAge !== null && !MAXIMUM_AGE.test(maximumAge)) {
      send(response, 400, { code: 'bad_max_age', error: 'maxAgeMs must be a whole number of milliseconds' });
    } else {
      await this.options.share();
      this.read(response, key, maximumAge === null ? Number.POSITIVE_INFINITY : Number(maximumAge));
    }
  }

  private read(response: ServerResponse, key: Buffer, maximumAgeMs: number): void {
    const { clock, engine, replication } = this.options;
    const regions = Object.fromEntries(
      replication
        .ages()
        .map(({ region, ageMs }) => [region, { ageMs: ageMs === undefined ? null : Math.round(ageMs) }]),
    );
    if (maximumAgeMs !== Number.POSITIVE_INFINITY && !replication.isFresh(maximumAgeMs)) {
      const stalest = replication.stalest();
      const error = errors.stale(stalest?.region ?? '?', stalest?.ageMs, maximumAgeMs).replace(/^STALE /, '');
      send(response, 412, { code: 'stale', error, regions });
      return;
    }
    engine.advanceTo(clock.now());
    const exists = engine.open(ByteInput.copyOf(key), 0, key.length);
    const value = joinInt64(engine.valueHigh, engine.valueLow);
    engine.close();
    const shown = key.toString('utf8');
    if (exists) send(response, 200, { key: shown, value: String(value), regions });
    else send(response, 404, { code: 'no_such_key', error: 'there is no such key', key: shown, regions });
  }
}

/** A user without prefixes may touch all keys. */
function mayTouch(user: User, key: Uint8Array): boolean {
  return !user.hasPrefixes || user.mayTouch(key, 0, key.length);
}

function decode(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text));
  } catch {
    return undefined;
  }
}
