import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { QuotaDetails, TokenPlace } from '../../src/snapshot.js';
import { addressWith, choose, chosen } from '../live/address.js';
import { getJson } from '../live/connection.js';
import { colorOf, knownRegions, regions, sources } from '../live/regions.js';
import { useWatch } from '../live/watch.js';
import { Chart } from '../parts/chart.js';
import { count } from '../parts/format.js';
import { Name } from '../parts/name.js';
import { Alert, Empty, Loading, Panel } from '../parts/panel.js';
import { WHOLE } from '../parts/scale.js';
import { SubjectField } from '../parts/subject-field.js';
import { TokenBar } from '../parts/token-bar.js';
import { cut, visibleText } from '../parts/visible.js';

/** The busiest subjects of a quota, and a field for any other. */
export function Subjects(props: { quota: string }) {
  const typed = useSignal(chosen('subject'));
  useEffect(() => {
    typed.value = chosen('subject');
  }, [chosen('subject')]);
  const subjects = busiest(props.quota);
  return (
    <Panel title="Choose a subject" caption="The busiest of the last ten seconds, or any by name.">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          choose({ quota: props.quota, subject: typed.value });
        }}
      >
        <SubjectField label="Subject" subject={typed} />
        <button type="submit">Watch</button>
      </form>
      {subjects.length === 0 ? (
        <Empty title="No takes in the last ten seconds" />
      ) : (
        <ul class="choices" aria-label="Busiest subjects">
          {subjects.map(([subject, perSecond]) => (
            <li key={subject}>
              <a
                class="row"
                href={addressWith({ quota: props.quota, subject })}
                aria-current={chosen('subject') === subject || undefined}
              >
                <span class="mono">
                  <Name text={subject} />
                </span>{' '}
                <span class="note">{count(perSecond)} takes / s</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function busiest(quota: string): (readonly [string, number])[] {
  const found = new Map<string, number>();
  for (const { snapshot } of knownRegions()) {
    const figures = snapshot.quotas.find(({ name }) => name === quota);
    for (const { identifier, allowedPerSecond, deniedPerSecond } of figures?.subjects ?? [])
      found.set(identifier, (found.get(identifier) ?? 0) + allowedPerSecond + deniedPerSecond);
  }
  return [...found].sort(([, one], [, other]) => other - one);
}

const HISTORY_POINTS = 300;

interface TokenPoint {
  readonly atMs: number;
  /** Unspent tokens by region. */
  readonly left: ReadonlyMap<string, number>;
}

/** One subject, in all regions that answer, once a second. */
export function Subject(props: { quota: string; subject: string; title?: string }) {
  const points = useSignal<readonly TokenPoint[]>([]);
  const { value: details, trouble } = useWatch(
    `${props.quota} ${props.subject}`,
    () => askAll(props.quota, props.subject),
    ({ places }) => {
      const left = new Map(places.map(({ region, held, localBalance }) => [region, held + (localBalance ?? 0)]));
      points.value = [...points.value, { atMs: Date.now(), left }].slice(-HISTORY_POINTS);
    },
  );
  const title = props.title ?? `Where the tokens of ${cut(visibleText(props.subject))} are`;
  return (
    <Panel title={title} caption={captionOf(details)} shows={props.subject}>
      <Alert text={trouble} />
      {details === null && trouble === '' && <Loading what="the tokens" />}
      {details !== null && <TokenBar of={details} />}
      {details !== null && (
        <>
          <h3>Tokens left, by region</h3>
          <Chart
            title="Tokens left"
            times={points.value.map((point) => point.atMs)}
            lines={details.places.map(({ region }) => ({
              label: region,
              color: colorOf(region),
              values: points.value.map((point) => point.left.get(region) ?? null),
            }))}
            unit={WHOLE}
          />
        </>
      )}
    </Panel>
  );
}

function captionOf(details: QuotaDetails | null): string {
  const others = details?.places.filter(({ isOwn }) => !isOwn).map(({ region }) => region) ?? [];
  const own = 'Each region by its own figures.';
  return others.length === 0 ? own : `${own} Of ${others.join(', ')}: what other regions last heard.`;
}

async function askAll(quota: string, subject: string): Promise<QuotaDetails> {
  const path = `/api/v1/dashboard/quotas/${encodeURIComponent(quota)}?${new URLSearchParams({ subject })}`;
  const answers = await Promise.allSettled(
    (sources.value?.sources ?? []).map(({ base }) => getJson<QuotaDetails>(base + path)),
  );
  const views = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const refused = answers.find((answer) => answer.status === 'rejected');
  if (views.length === 0) throw refused?.reason ?? new Error('no region answers');
  return joinViews(views);
}

/**
 * Each region's own figures; for a region that did not answer, the figures that another region has of it. In the order
 * of the other views, so that a color is at its place.
 */
function joinViews(views: readonly QuotaDetails[]): QuotaDetails {
  const places = new Map<string, TokenPlace>();
  for (const isOwn of [false, true])
    for (const place of views.flatMap((view) => view.places))
      if (place.isOwn === isOwn) places.set(place.region, place);
  const first = [...regions.value.keys()].flatMap((region) => places.get(region) ?? []);
  const others = [...places.values()].filter(({ region }) => !regions.value.has(region));
  others.sort((one, other) => (one.region < other.region ? -1 : 1));
  return { ...views[0], places: [...first, ...others] };
}
