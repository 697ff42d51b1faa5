import type { Catalogue, LimitEntry } from '../../src/snapshot.js';
import { addressWith, choose, chosen } from '../live/address.js';
import { type Denied, deniedSubjects, limitRate, useCatalogue } from '../live/catalogue.js';
import { sources } from '../live/regions.js';
import { count } from '../parts/format.js';
import { LongName, Name } from '../parts/name.js';
import { Alert, Empty, Loading, Panel } from '../parts/panel.js';
import { RangeChoice } from '../parts/range-choice.js';
import { COUNTS } from '../parts/scale.js';
import { head, number, Table, text } from '../parts/table.js';
import { TimeChart } from '../parts/time-chart.js';
import { AdjustSubject } from './adjust-subject.js';
import { CatalogueEditor, LimitEditor, NewLimit } from './limit-editor.js';
import { TryCheck } from './try-check.js';

const SHOWN = 20;

/** The catalogue: limits as data, who is denied by which, and an editor. */
export function Limits() {
  const { value: catalogue, trouble } = useCatalogue();
  if (trouble !== '' && catalogue === null) return <Alert text={`The limits cannot be read: ${trouble}`} />;
  if (catalogue === null) return <Loading what="the limits" />;
  const mayEdit = sources.value?.user?.isAdmin === true;
  const edit = mayEdit ? chosen('edit') : '';
  const entry = catalogue.limits.find(({ name }) => name === chosen('limit'));
  const [denied, inShadow] = [deniedSubjects(false), deniedSubjects(true)];
  // Limits of Envoy's files are in no catalogue, and deny too.
  const isUsed = catalogue.limits.length + denied.length + inShadow.length > 0;
  return (
    <>
      <Panel title="Limits" caption={captionOf(catalogue)} tools={mayEdit && edit === '' && <EditButtons />}>
        {catalogue.limits.length === 0 ? (
          <Empty title="The catalogue has no limits">
            <code>LIMIT.SET</code>, <code>--limits FILE</code> or the editor of this page adds one.
          </Empty>
        ) : (
          <Table columns={COLUMNS} rows={catalogue.limits} keyOf={({ name }) => name} label="Limits" />
        )}
      </Panel>
      {edit === 'new' && <NewLimit />}
      {edit === 'all' && <CatalogueEditor catalogue={catalogue} />}
      {edit === '' && entry !== undefined && <Chosen entry={entry} mayEdit={mayEdit} />}
      {isUsed && <DeniedPanels denied={denied} inShadow={inShadow} />}
      <Plans catalogue={catalogue} />
    </>
  );
}

function DeniedPanels(props: { denied: readonly Denied[]; inShadow: readonly Denied[] }) {
  return (
    <>
      <div class="columns">
        <DeniedPanel
          title="Denied"
          caption="Who was denied most, and by what; the last ten seconds of all regions."
          rows={props.denied}
        />
        <DeniedPanel
          title="Would be denied, in shadow"
          caption="Limits in shadow decide and count, and deny nothing."
          rows={props.inShadow}
        />
      </div>
      <div class="section">
        <h2>History of all limits</h2>
        <RangeChoice />
      </div>
      <div class="columns">
        <Panel title="Denied per second">
          <TimeChart title="Denied per second" field="limitsDeniedPerSecond" unit={COUNTS} />
        </Panel>
        <Panel title="In shadow per second">
          <TimeChart title="Denied in shadow per second" field="limitsShadowDeniedPerSecond" unit={COUNTS} />
        </Panel>
      </div>
    </>
  );
}

function captionOf({ limits, plans }: Catalogue): string {
  const total = Object.keys(plans ?? {}).length;
  const limitsWord = limits.length === 1 ? 'limit' : 'limits';
  const words = `${limits.length} ${limitsWord}, ${total} ${total === 1 ? 'plan' : 'plans'}`;
  return `The catalogue, the same in all regions: ${words}. Rates of the last ten seconds.`;
}

function EditButtons() {
  return (
    <div class="controls">
      <button type="button" onClick={() => choose({ edit: 'new' })}>
        Add a limit
      </button>
      <button type="button" class="quiet" onClick={() => choose({ edit: 'all' })}>
        Edit the catalogue
      </button>
    </div>
  );
}

const COLUMNS = [
  head('Name', ({ name }: LimitEntry) => (
    <a class="row" href={addressWith({ limit: name, edit: '' })} aria-current={chosen('limit') === name || undefined}>
      <Name text={name} />
    </a>
  )),
  text('Kind', ({ kind }: LimitEntry) => kind),
  number('Limit', ({ limit }: LimitEntry) => (typeof limit === 'number' ? count(limit) : limit)),
  number('Per', ({ window, hold }: LimitEntry) => String(window ?? (hold === undefined ? '–' : `lease of ${hold}`))),
  text('Domain, parent', ({ domain, parent }: LimitEntry) =>
    [domain, parent === undefined ? undefined : `in ${parent}`].filter((one) => one !== undefined).join(', '),
  ),
  number('Overrides', ({ overrides }: LimitEntry) => count(overrides?.length ?? 0)),
  text('Mode', ({ shadow, enabled }: LimitEntry) =>
    enabled === false ? <span class="tag">off</span> : shadow === true ? <span class="tag">shadow</span> : 'enforced',
  ),
  number('Allowed / s', ({ name }: LimitEntry) => count(limitRate(name, (limit) => limit.allowedTotal))),
  number('Denied / s', ({ name }: LimitEntry) => count(limitRate(name, (limit) => limit.deniedTotal))),
  number('In shadow / s', ({ name }: LimitEntry) => count(limitRate(name, (limit) => limit.shadowDeniedTotal))),
];

function Chosen(props: { entry: LimitEntry; mayEdit: boolean }) {
  const { entry } = props;
  const mayTake = sources.value?.user?.mayTake === true;
  if (!mayTake && !props.mayEdit) return null;
  return (
    <div class="columns">
      {props.mayEdit && <LimitEditor key={entry.name} entry={entry} />}
      {mayTake && <TryCheck key={entry.name} entry={entry} />}
      {props.mayEdit && <AdjustSubject key={entry.name} entry={entry} />}
    </div>
  );
}

function DeniedPanel(props: { title: string; caption: string; rows: readonly Denied[] }) {
  return (
    <Panel title={props.title} caption={props.caption}>
      {props.rows.length === 0 ? (
        <Empty title="No subject in the last ten seconds" />
      ) : (
        <Table
          columns={DENIED_COLUMNS}
          rows={props.rows.slice(0, SHOWN)}
          keyOf={({ limit, subject }) => JSON.stringify([limit, subject])}
          label={props.title}
        />
      )}
    </Panel>
  );
}

const DENIED_COLUMNS = [
  head('Subject', ({ subject }: Denied) => <LongName text={subject} />, 'mono'),
  text('By the limit', ({ limit }: Denied) => <Name text={limit} />),
  number('Per second', ({ perSecond }: Denied) => count(perSecond)),
];

function Plans(props: { catalogue: Catalogue }) {
  const plans = Object.entries(props.catalogue.plans ?? {});
  if (plans.length === 0) return null;
  return (
    <Panel title="Plans" caption="A subject is in the first plan that names it.">
      <Table columns={PLAN_COLUMNS} rows={plans} keyOf={([name]) => name} />
    </Panel>
  );
}

type Plan = readonly [string, { readonly subjects: readonly string[] }];

const PLAN_COLUMNS = [
  head('Plan', ([name]: Plan) => <Name text={name} />),
  number('Subjects', ([, { subjects }]: Plan) => count(subjects.length)),
  text('', ([, { subjects }]: Plan) => <LongName text={subjects.join(', ')} />, 'mono'),
];
