import type { QuotaDetails, TokenPlace } from '../../src/snapshot.js';
import { count, duration } from '../format.js';
import { colorOf, total } from '../regions.js';

/** Where the tokens of one subject are: one bar as long as the limit, and the same as a table. */
export function TokenBar(props: { of: QuotaDetails }) {
  const { limit, places, resetMs } = props.of;
  const left = total(places, unspentOf);
  const spent = total(places, spentOf);
  const whole = Math.max(limit, left + spent, 1);
  const width = (amount: number) => `width:${(100 * amount) / whole}%`;
  return (
    <>
      <p>
        <strong class="large">{count(left)}</strong> of {count(limit)} left
        {resetMs >= 0 && <span class="note">, all of it again in {duration(Math.ceil(resetMs / 1000))}</span>}
      </p>
      <div class="share tall" aria-hidden="true">
        {places.map((place) => (
          <span key={place.region} style={`${width(place.held)};background:var(${colorOf(place.region)})`}>
            {place.held / whole > 0.08 ? place.region : ''}
          </span>
        ))}
        {places.map((place) => (
          <span
            key={`${place.region} pocket`}
            class="pocket"
            style={`${width(place.pocket ?? 0)};--color:var(${colorOf(place.region)})`}
          />
        ))}
      </div>
      <Places places={places} />
    </>
  );
}

function Places(props: { places: readonly TokenPlace[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Region</th>
            <th class="number">Held, can go elsewhere</th>
            <th class="number">Set aside to be spent here</th>
            <th class="number">Spent</th>
          </tr>
        </thead>
        <tbody>
          {props.places.map((place) => (
            <tr key={place.region}>
              <th scope="row">
                <span class="state">
                  <span class="dot" style={`background:var(${colorOf(place.region)})`} />
                  {place.region}
                </span>
              </th>
              <td class="number">{count(place.held)}</td>
              <td class="number">{place.pocket === null ? 'not known here' : count(place.pocket)}</td>
              <td class="number">
                {place.pocket === null ? `at most ${count(place.setAside)}` : count(place.setAside - place.pocket)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function unspentOf({ held, pocket }: TokenPlace): number {
  return held + (pocket ?? 0);
}

function spentOf({ setAside, pocket }: TokenPlace): number {
  return Math.max(0, setAside - (pocket ?? 0));
}

/** What every region says of itself, and of a region that says nothing what another has heard of it. */
export function joinViews(views: readonly QuotaDetails[]): QuotaDetails | null {
  if (views.length === 0) return null;
  const places = new Map<string, TokenPlace>();
  for (const isOwn of [false, true])
    for (const place of views.flatMap((view) => view.places))
      if (place.isOwn === isOwn) places.set(place.region, place);
  return { ...views[0], places: [...places.values()].sort((one, other) => (one.region < other.region ? -1 : 1)) };
}
