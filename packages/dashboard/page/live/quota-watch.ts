import { signal } from '@preact/signals';
import type { QuotaDetails, TokenPlace } from '../../src/snapshot.js';
import { getJson } from './connection.js';
import { sources } from './regions.js';

const WATCH_INTERVAL_MS = 1000;
const HISTORY_POINTS = 300;

export interface TokenPoint {
  readonly atMs: number;
  /** Unspent tokens by region. */
  readonly left: ReadonlyMap<string, number>;
}

/** Reads one subject of a quota once a second, in all regions, until another is chosen. */
export class QuotaWatch {
  readonly details = signal<QuotaDetails | null>(null);
  readonly history = signal<readonly TokenPoint[]>([]);
  readonly trouble = signal('');
  readonly name = signal('');
  readonly subject = signal('');
  private turn = 0;

  watch(name: string, subject: string): void {
    const turn = ++this.turn;
    this.name.value = name;
    this.subject.value = subject;
    this.details.value = null;
    this.history.value = [];
    const again = async () => {
      if (turn !== this.turn) return;
      await this.look(turn);
      setTimeout(() => void again(), WATCH_INTERVAL_MS);
    };
    void again();
  }

  private async look(turn: number): Promise<void> {
    const query = new URLSearchParams({ subject: this.subject.value });
    const path = `/api/v1/dashboard/quotas/${encodeURIComponent(this.name.value)}?${query}`;
    const answers = await Promise.allSettled(
      (sources.value?.sources ?? []).map(({ base }) => getJson<QuotaDetails>(base + path)),
    );
    if (turn !== this.turn) return;
    const joined = joinViews(answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : [])));
    const refused = answers.find((answer) => answer.status === 'rejected');
    this.trouble.value = joined === null && refused !== undefined ? String(refused.reason) : '';
    if (joined === null) return;
    this.details.value = joined;
    const left = new Map(joined.places.map(({ region, held, localBalance }) => [region, held + (localBalance ?? 0)]));
    this.history.value = [...this.history.value, { atMs: Date.now(), left }].slice(-HISTORY_POINTS);
  }
}

/** Each region's own figures; for a region that did not answer, the figures that another region has of it. */
function joinViews(views: readonly QuotaDetails[]): QuotaDetails | null {
  if (views.length === 0) return null;
  const places = new Map<string, TokenPlace>();
  for (const isOwn of [false, true])
    for (const place of views.flatMap((view) => view.places))
      if (place.isOwn === isOwn) places.set(place.region, place);
  return { ...views[0], places: [...places.values()].sort((one, other) => (one.region < other.region ? -1 : 1)) };
}
