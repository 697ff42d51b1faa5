import type { Source } from '../../src/snapshot.js';
import { choose, chosen } from '../live/address.js';
import { regions, sources } from '../live/regions.js';

/** The region that the address names, or the first that answers. */
export function chosenSource(): Source | undefined {
  const all = sources.value?.sources ?? [];
  const named = all.find(({ region }) => region === chosen('region'));
  return named ?? all.find(({ region }) => regions.value.get(region)?.state === 'connected') ?? all[0];
}

/** Shown where the page has more than one region to ask. */
export function SourceChoice() {
  const all = sources.value?.sources ?? [];
  if (all.length < 2) return null;
  return (
    <label>
      Region
      <select value={chosenSource()?.region ?? ''} onChange={(event) => choose({ region: event.currentTarget.value })}>
        {all.map(({ region }) => (
          <option key={region} value={region}>
            {region}
            {regions.value.get(region)?.state === 'silent' ? ' (down)' : ''}
          </option>
        ))}
      </select>
    </label>
  );
}
