import { signal } from '@preact/signals';
import type { QuotaFigures } from '../../src/snapshot.js';
import { QuotaWatch } from '../live/quota-watch.js';
import { colorOf, growth, growthOfAll, knownRegions, regions } from '../live/regions.js';
import { Chart } from '../parts/chart.js';
import { count, duration } from '../parts/format.js';
import { Alert, Panel } from '../parts/panel.js';
import { head, number, Table, text } from '../parts/table.js';
import { TokenBar } from '../parts/token-bar.js';

const chosen = signal('');
const typed = signal('');
const watch = new QuotaWatch();

/** Limits that hold for all regions together: the tokens taken, and where the others are. */
export function Quotas() {
  const quotas = allQuotas();
  const quota = quotas.find(({ name }) => name === chosen.value) ?? quotas[0];
  if (quota === undefined)
    return (
      <Panel title="Quotas">
        <p class="note">
          No quota is defined. <code>QUOTA.DEFINE name LIMIT n WINDOW ms</code> defines one.
        </p>
      </Panel>
    );
  return (
    <>
      <Panel title="Quotas">
        <Table columns={quotaColumns(quota.name)} rows={quotas} keyOf={({ name }) => name} />
      </Panel>
      <div class="columns">
        <ByRegion quota={quota.name} />
        <Subjects quota={quota.name} />
      </div>
      <Watched quota={quota.name} />
    </>
  );
}

function quotaColumns(selected: string) {
  const rate = (name: string, pick: (quota: QuotaFigures) => number) =>
    number<QuotaFigures>(name, (quota) =>
      count(growthOfAll((snapshot) => pickQuota(snapshot.quotas, quota.name, pick))),
    );
  return [
    head('Name', ({ name }: QuotaFigures) => (
      <button
        type="button"
        class="plain"
        aria-pressed={name === selected}
        onClick={() => {
          chosen.value = name;
        }}
      >
        {name}
      </button>
    )),
    number('Limit', ({ limit }: QuotaFigures) => count(limit)),
    number('Window', ({ windowMs }: QuotaFigures) => (windowMs === 0 ? 'none' : duration(windowMs / 1000))),
    text('Allocated to', ({ allocator, shares }: QuotaFigures) =>
      [allocator, ...shares.map(({ region, fraction }) => `${region} ${Math.round(fraction * 100)} %`)].join(', '),
    ),
    rate('Tokens taken per second', (quota) => quota.tokensTotal),
    rate('Denied per second', (quota) => quota.deniedTotal),
    rate('Refills per second', (quota) => quota.refillsTotal),
  ];
}

function ByRegion(props: { quota: string }) {
  const known = knownRegions();
  type Row = (typeof known)[number];
  const rate = (name: string, pick: (quota: QuotaFigures) => number) =>
    number<Row>(name, ({ recent }) => count(growth(recent, (one) => pickQuota(one.quotas, props.quota, pick)) ?? 0));
  const columns = [
    head('Region', ({ source }: Row) => source.region),
    rate('Taken / s', (quota) => quota.tokensTotal),
    rate('Denied / s', (quota) => quota.deniedTotal),
    rate('Refills / s', (quota) => quota.refillsTotal),
    number('Tokens per refill', ({ snapshot }: Row) => {
      const refills = pickQuota(snapshot.quotas, props.quota, (quota) => quota.refillsTotal);
      if (refills === 0) return '–';
      return count(pickQuota(snapshot.quotas, props.quota, (quota) => quota.tokensRefilledTotal) / refills);
    }),
  ];
  return (
    <Panel title={`${props.quota} by region`}>
      <Table columns={columns} rows={known} keyOf={({ source }) => source.region} />
      <p class="note">The last ten seconds.</p>
    </Panel>
  );
}

function Subjects(props: { quota: string }) {
  const found = new Map<string, number>();
  for (const { snapshot } of knownRegions()) {
    const figures = snapshot.quotas.find(({ name }) => name === props.quota);
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
              {subject} <span class="note">{perSecond.toFixed(1)} takes per second</span>
            </button>
          </li>
        ))}
      </ul>
      {subjects.length === 0 && <p class="note">No takes in the last ten seconds.</p>}
    </Panel>
  );
}

function Watched(props: { quota: string }) {
  const details = watch.details.value;
  if (watch.trouble.value !== '') return <Alert text={watch.trouble.value} />;
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
