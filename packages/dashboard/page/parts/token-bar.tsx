import type { QuotaDetails, TokenPlace } from '../../src/snapshot.js';
import { colorOf, total } from '../live/regions.js';
import { count, duration, exact } from './format.js';
import { State } from './panel.js';
import { head, number, Table } from './table.js';

/** Where the tokens of one subject are: a bar as long as the limit, and the same figures as a table. */
export function TokenBar(props: { of: QuotaDetails }) {
  const { limit, places, resetMs } = props.of;
  const left = total(places, ({ held, localBalance }) => held + (localBalance ?? 0));
  const spent = total(places, ({ setAside, localBalance }) => Math.max(0, setAside - (localBalance ?? 0)));
  const whole = Math.max(limit, left + spent, 1);
  const width = (amount: number) => `width:${(100 * amount) / whole}%`;
  return (
    <>
      <p class="headline">
        <strong>{exact(left)}</strong> of {exact(limit)} left
        {resetMs >= 0 && <span class="note">, all again in {duration(Math.ceil(resetMs / 1000))}</span>}
      </p>
      <div class="share tall" aria-hidden="true">
        {places.map(({ region, held }) => (
          <span key={region} style={`${width(held)};background:var(${colorOf(region)})`}>
            {held / whole > 0.08 ? region : ''}
          </span>
        ))}
        {places.map(({ region, localBalance }) => (
          <span
            key={`${region} local`}
            class="local-balance"
            style={`${width(localBalance ?? 0)};--color:var(${colorOf(region)})`}
          />
        ))}
      </div>
      <Table columns={COLUMNS} rows={places} keyOf={({ region }) => region} />
    </>
  );
}

const COLUMNS = [
  head('Region', ({ region }: TokenPlace) => (
    <State dot="" style={`background:var(${colorOf(region)})`}>
      {region}
    </State>
  )),
  number('Transferable', ({ held }: TokenPlace) => count(held)),
  number('Local balance', ({ localBalance }: TokenPlace) =>
    localBalance === null ? 'known there only' : count(localBalance),
  ),
  number('Spent', ({ setAside, localBalance }: TokenPlace) =>
    localBalance === null ? `at most ${count(setAside)}` : count(setAside - localBalance),
  ),
];
