import { signal } from '@preact/signals';
import type { QuotaFigures } from '../../src/snapshot.js';
import { count, duration } from '../format.js';
import { Chart } from '../parts/chart.js';
import { Panel } from '../parts/tile.js';
import { TokenBar } from '../parts/token-bar.js';
import { QuotaWatch } from '../quota-watch.js';
import { colorOf, growth, growthOfAll, regions } from '../regions.js';

const chosen = signal('');
const typed = signal('');
const watch = new QuotaWatch();

/** Limits that hold for all regions together: what is taken, and where what is left is. */
export function Quotas() {
  const quotas = allQuotas();
  const quota = quotas.find(({ name }) => name === chosen.value) ?? quotas[0];
  if (quota === undefined)
    return (
      <Panel title="Quotas">
        <p class="note">
          No quota is defined. <code>QUOTA.DEFINE name LIMIT n WINDOW ms</code> makes one.
        </p>
      </Panel>
    );
  return (
    <>
      <Panel title="Quotas">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th class="number">Limit</th>
                <th class="number">Window</th>
                <th>Begins in</th>
                <th class="number">Tokens taken a second</th>
                <th class="number">Denied a second</th>
                <th class="number">Refills a second</th>
              </tr>
            </thead>
            <tbody>
              {quotas.map((one) => (
                <tr key={one.name}>
                  <th scope="row">
                    <button
                      type="button"
                      class="plain"
                      aria-pressed={one.name === quota.name}
                      onClick={() => {
                        chosen.value = one.name;
                      }}
                    >
                      {one.name}
                    </button>
                  </th>
                  <td class="number">{count(one.limit)}</td>
                  <td class="number">{one.windowMs === 0 ? 'none' : duration(one.windowMs / 1000)}</td>
                  <td>
                    {one.allocator}
                    {one.shares.map(({ region, fraction }) => `, ${region} ${Math.round(fraction * 100)} %`)}
                  </td>
                  <td class="number">{rateOf(one.name, (figures) => figures.tokensTotal)}</td>
                  <td class="number">{rateOf(one.name, (figures) => figures.deniedTotal)}</td>
                  <td class="number">{rateOf(one.name, (figures) => figures.refillsTotal)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      <div class="columns">
        <ByRegion quota={quota.name} />
        <Subjects quota={quota.name} />
      </div>
      <Watched quota={quota.name} />
    </>
  );
}

function ByRegion(props: { quota: string }) {
  const all = [...regions.value.values()].filter((region) => region.snapshot !== null);
  const rate = (recent: Parameters<typeof growth>[0], pick: (quota: QuotaFigures) => number) =>
    count(growth(recent, (one) => pickQuota(one.quotas, props.quota, pick)) ?? 0);
  return (
    <Panel title={`${props.quota}, region by region`}>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Region</th>
              <th class="number">Taken / s</th>
              <th class="number">Denied / s</th>
              <th class="number">Refills / s</th>
              <th class="number">Tokens a refill</th>
            </tr>
          </thead>
          <tbody>
            {all.map(({ source, snapshot, recent }) => {
              const figures = snapshot!.quotas.find(({ name }) => name === props.quota);
              const refills = figures?.refillsTotal ?? 0;
              return (
                <tr key={source.region}>
                  <th scope="row">{source.region}</th>
                  <td class="number">{rate(recent, (quota) => quota.tokensTotal)}</td>
                  <td class="number">{rate(recent, (quota) => quota.deniedTotal)}</td>
                  <td class="number">{rate(recent, (quota) => quota.refillsTotal)}</td>
                  <td class="number">{refills === 0 ? '–' : count((figures?.tokensRefilledTotal ?? 0) / refills)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="note">Of the last ten seconds.</p>
    </Panel>
  );
}

function Subjects(props: { quota: string }) {
  const found = new Map<string, number>();
  for (const { snapshot } of regions.value.values()) {
    const figures = snapshot?.quotas.find(({ name }) => name === props.quota);
    for (const { identifier, allowedPerSecond, deniedPerSecond } of figures?.subjects ?? [])
      found.set(identifier, (found.get(identifier) ?? 0) + allowedPerSecond + deniedPerSecond);
  }
  const subjects = [...found].sort(([, one], [, other]) => other - one);
  return (
    <Panel title="Choose a subject">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          watch.watch(props.quota, typed.value);
        }}
      >
        <label>
          Subject
          <input
            value={typed.value}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => {
              typed.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit">Watch</button>
      </form>
      <ul class="keys" aria-label="Busiest subjects">
        {subjects.map(([subject, perSecond]) => (
          <li key={subject}>
            <button
              type="button"
              class="plain mono"
              aria-pressed={watch.name.value === props.quota && watch.subject.value === subject}
              onClick={() => {
                typed.value = subject;
                watch.watch(props.quota, subject);
              }}
            >
              {subject} <span class="note">{perSecond.toFixed(1)} takes a second</span>
            </button>
          </li>
        ))}
      </ul>
      {subjects.length === 0 && <p class="note">Nobody has taken anything in the last seconds.</p>}
    </Panel>
  );
}

function Watched(props: { quota: string }) {
  const details = watch.details.value;
  if (watch.trouble.value !== '')
    return (
      <p class="trouble" role="alert">
        {watch.trouble.value}
      </p>
    );
  if (details === null || details.name !== props.quota) return null;
  const points = watch.history.value;
  return (
    <Panel title={`Where the tokens of ${details.subject} are`}>
      <TokenBar of={details} />
      <Chart
        title="Tokens left"
        times={points.map((point) => point.atMs)}
        lines={details.places.map(({ region }) => ({
          label: region,
          color: colorOf(region),
          values: points.map((point) => point.left.get(region) ?? null),
        }))}
        format={count}
      />
    </Panel>
  );
}

function allQuotas(): readonly QuotaFigures[] {
  const found = new Map<string, QuotaFigures>();
  for (const { snapshot } of regions.value.values())
    for (const quota of snapshot?.quotas ?? []) if (!found.has(quota.name)) found.set(quota.name, quota);
  return [...found.values()];
}

function pickQuota(quotas: readonly QuotaFigures[], name: string, pick: (quota: QuotaFigures) => number): number {
  const quota = quotas.find((one) => one.name === name);
  return quota === undefined ? 0 : pick(quota);
}

function rateOf(name: string, pick: (quota: QuotaFigures) => number): string {
  return count(growthOfAll((one) => pickQuota(one.quotas, name, pick)));
}
