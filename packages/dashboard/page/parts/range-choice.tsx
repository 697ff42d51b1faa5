import { addressWith } from '../live/address.js';
import { pastBeginsAt, RANGES, range, rangeMs } from '../live/past.js';
import { moment } from './format.js';

const SHORTER_MS = 10_000;

/** The ranges of all charts, as links: a range has an address. */
export function RangeChoice() {
  const now = range();
  const beginsAt = pastBeginsAt();
  const isShort = beginsAt !== undefined && Date.now() - beginsAt < rangeMs() - SHORTER_MS;
  return (
    <div class="ranges">
      {isShort && <span class="note">since {moment(beginsAt, Date.now())}, when the server started</span>}
      <nav aria-label="Range of the charts" class="segments">
        {RANGES.map((one) => (
          <a key={one} href={addressWith({ range: one === '5m' ? '' : one })} aria-current={one === now || undefined}>
            {one}
          </a>
        ))}
      </nav>
    </div>
  );
}
