import type { QuotaFigures } from '../../src/snapshot.js';
import { addressOf, addressWith, choose, chosen } from '../live/address.js';
import { growth, growthOfAll, type KnownRegion, knownRegions, sources } from '../live/regions.js';
import { count, exact, span } from '../parts/format.js';
import { Name } from '../parts/name.js';
import { Empty, Loading, Panel } from '../parts/panel.js';
import { RangeChoice } from '../parts/range-choice.js';
import { COUNTS } from '../parts/scale.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';
import { QuotaEditor } from './quota-editor.js';
import { Subject, Subjects } from './quota-subject.js';
import { TryTake } from './try-take.js';

const NEW = 'new';

/** Limits that hold for all regions together: the tokens taken, and where the others are. */
export function Quotas() {
  if (knownRegions().length === 0) return <Loading what="the quotas" />;
  const quotas = allQuotas();
  const chosenQuota = quotas.find(({ name }) => name === chosen('quota')) ?? quotas[0];
  const mayEdit = sources.value?.user?.isAdmin === true;
  const isNew = mayEdit && chosen('edit') === NEW;
  return (
    <>
      <Panel
        title="Quotas"
        caption="All regions together; the last ten seconds."
        tools={mayEdit && !isNew && <DefineButton />}
      >
        {quotas.length === 0 ? (
          <Empty title="No quota is defined">
            <code>QUOTA.DEFINE emails LIMIT 1000 WINDOW 60000</code> defines one.
          </Empty>
        ) : (
          <Table columns={quotaColumns(chosenQuota.name)} rows={quotas} keyOf={({ name }) => name} />
        )}
      </Panel>
      {isNew && <QuotaEditor quota={undefined} />}
      {chosenQuota !== undefined && !isNew && <Chosen quota={chosenQuota} mayEdit={mayEdit} />}
      {quotas.length > 0 && (
        <>
          <div class="section">
            <h2>History of all quotas</h2>
            <RangeChoice />
          </div>
          <div class="columns">
            <Panel title="Takes per second">
              <TimeChart title="Takes per second" field="takesPerSecond" unit={COUNTS} />
            </Panel>
            <Panel title="Denied takes per second">
              <TimeChart title="Denied takes per second" field="takesDeniedPerSecond" unit={COUNTS} />
            </Panel>
          </div>
        </>
      )}
    </>
  );
}

function DefineButton() {
  return (
    <button type="button" onClick={() => choose({ edit: NEW })}>
      Define a quota
    </button>
  );
}

function Chosen(props: { quota: QuotaFigures; mayEdit: boolean }) {
  const { quota } = props;
  const subject = chosen('subject');
  const mayTake = sources.value?.user?.mayTake === true;
  return (
    <>
      <div class="columns">
        <ByRegion quota={quota.name} />
        <Subjects quota={quota.name} />
      </div>
      {subject !== '' && <Subject key={`${quota.name} ${subject}`} quota={quota.name} subject={subject} />}
      {(mayTake || props.mayEdit) && (
        <div class="columns">
          {mayTake && <TryTake key={quota.name} quota={quota} />}
          {props.mayEdit && <Editor quota={quota} />}
        </div>
      )}
    </>
  );
}

function Editor(props: { quota: QuotaFigures }) {
  const { quota } = props;
  if (quota.isCatalogued) return <Catalogued name={quota.name} />;
  if (quota.calendar === null) return <QuotaEditor key={quota.name} quota={quota} />;
  return (
    <Panel title={`Change ${quota.name}`}>
      <Empty title="Its windows are those of the calendar">
        <code>QUOTA.DEFINE {quota.name} …</code> changes it.
      </Empty>
    </Panel>
  );
}

/** A quota of the catalogue is changed with its limit. */
function Catalogued(props: { name: string }) {
  return (
    <Panel title={`Change ${props.name}`}>
      <Empty title="This quota belongs to a limit of the catalogue">
        <a href={addressOf('limits', { limit: props.name })}>Change the limit</a>
      </Empty>
    </Panel>
  );
}

function quotaColumns(selected: string) {
  const rate = (name: string, pick: (quota: QuotaFigures) => number) =>
    number<QuotaFigures>(name, (quota) =>
      count(growthOfAll((snapshot) => pickQuota(snapshot.quotas, quota.name, pick))),
    );
  return [
    head('Name', ({ name }: QuotaFigures) => (
      <a
        class="row"
        href={addressWith({ quota: name, subject: '', edit: '' })}
        aria-current={name === selected || undefined}
      >
        <Name text={name} />
      </a>
    )),
    number('Limit', ({ limit }: QuotaFigures) => exact(limit)),
    number('Per', periodOf),
    text('Allocated to', ({ allocator, shares }: QuotaFigures) =>
      [allocator, ...shares.map(({ region, fraction }) => `${region} ${Math.round(fraction * 100)} %`)].join(', '),
    ),
    rate('Tokens taken / s', (quota) => quota.tokensTotal),
    rate('Denied / s', (quota) => quota.deniedTotal),
    rate('Refills / s', (quota) => quota.refillsTotal),
  ];
}

function periodOf({ windowMs, leaseMs, calendar }: QuotaFigures): string {
  if (calendar !== null) return `calendar ${calendar}`;
  if (leaseMs !== null) return `leases up to ${span(leaseMs)}`;
  return windowMs === 0 ? 'for ever' : span(windowMs);
}

function ByRegion(props: { quota: string }) {
  const rate = (name: string, pick: (quota: QuotaFigures) => number) =>
    number<KnownRegion>(name, ({ recent }) =>
      count(growth(recent, (one) => pickQuota(one.quotas, props.quota, pick)) ?? 0),
    );
  const columns = [
    head('Region', ({ source }: KnownRegion) => source.region),
    rate('Taken / s', (quota) => quota.tokensTotal),
    rate('Denied / s', (quota) => quota.deniedTotal),
    rate('Refills / s', (quota) => quota.refillsTotal),
    number('Tokens per refill', ({ snapshot }: KnownRegion) => {
      const refills = pickQuota(snapshot.quotas, props.quota, (quota) => quota.refillsTotal);
      if (refills === 0) return '–';
      return count(pickQuota(snapshot.quotas, props.quota, (quota) => quota.tokensRefilledTotal) / refills);
    }),
  ];
  const asked = sources.value?.sources.length ?? 0;
  return (
    <Panel
      title={`${props.quota} by region`}
      caption={`The last ten seconds${asked === 1 ? ' of this region; others show their own' : ''}.`}
      shows={props.quota}
    >
      <Table columns={columns} rows={knownRegions()} keyOf={({ source }) => source.region} />
    </Panel>
  );
}

function allQuotas(): readonly QuotaFigures[] {
  const found = new Map<string, QuotaFigures>();
  for (const { snapshot } of knownRegions())
    for (const quota of snapshot.quotas) if (!found.has(quota.name)) found.set(quota.name, quota);
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function pickQuota(quotas: readonly QuotaFigures[], name: string, pick: (quota: QuotaFigures) => number): number {
  const quota = quotas.find((one) => one.name === name);
  return quota === undefined ? 0 : pick(quota);
}
