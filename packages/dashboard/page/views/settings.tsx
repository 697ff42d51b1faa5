import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SettingFacts } from '../../src/snapshot.js';
import { chooseQuietly, chosen } from '../live/address.js';
import { getJson } from '../live/connection.js';
import { knownRegions, sources } from '../live/regions.js';
import { Alert, Empty, Loading, Panel } from '../parts/panel.js';
import { head, Table, text } from '../parts/table.js';

/** Of one region. */
interface Answer {
  readonly region: string;
  readonly settings: readonly SettingFacts[];
}

/** Every setting with what it does, its bounds and its value: that of each region where they differ. */
export function Settings() {
  return (
    <Panel title="Settings" caption="As they are now. Secrets are left out.">
      {sources.value?.user.isAdmin === false ? (
        <Empty title="Settings are shown to admins">This user may see figures only.</Empty>
      ) : (
        <AllSettings />
      )}
    </Panel>
  );
}

function AllSettings() {
  const answers = useSignal<readonly Answer[] | null>(null);
  const trouble = useSignal('');
  const asked = knownRegions().map(({ source }) => source);
  useEffect(() => {
    Promise.all(
      asked.map(async ({ region, base }) => ({
        region,
        settings: await getJson<SettingFacts[]>(`${base}/api/v1/dashboard/configuration`),
      })),
    ).then(
      (all) => {
        answers.value = all;
        trouble.value = '';
      },
      (error: Error) => {
        trouble.value = `The settings cannot be read: ${error.message}`;
      },
    );
  }, [asked.map(({ region }) => region).join(' ')]);
  return (
    <>
      <Alert text={trouble.value} />
      {answers.value === null
        ? trouble.value === '' && <Loading what="the settings" />
        : answers.value.length > 0 && <SettingTable answers={answers.value} />}
    </>
  );
}

const FLAG = /(--[a-z][a-z-]*)/;

/** A flag is not broken at its dashes. */
function Help(props: { text: string }) {
  return (
    <>{props.text.split(FLAG).map((part, index) => (index % 2 === 0 ? part : <span class="flag">{part}</span>))}</>
  );
}

function SettingTable(props: { answers: readonly Answer[] }) {
  const [first] = props.answers;
  const wanted = chosen('setting').toLowerCase();
  const isChangedOnly = chosen('changed') === 'yes';
  const valuesOf = (name: string) =>
    props.answers.map(({ settings }) => settings.find((one) => one.name === name)?.value ?? '');
  const rows = first.settings.filter(
    ({ name, help, standard }) =>
      (name.includes(wanted) || help.toLowerCase().includes(wanted)) &&
      (!isChangedOnly || valuesOf(name).some((value) => value !== standard)),
  );
  const columns = [
    head('Setting', ({ name, help, range, isChangeable }: SettingFacts) => (
      <>
        <span class="mono strong flag">{name}</span>
        <div class="help">
          <Help text={range === '' ? help : `${help} (${range})`} />
          {isChangeable && <span class="tag">CONFIG SET</span>}
        </div>
      </>
    )),
    text<SettingFacts>(
      'Value',
      ({ name, standard }) => {
        const values = valuesOf(name);
        if (values.every((value) => value === standard)) return <span class="note">{standard || '–'}</span>;
        const isSame = values.every((value) => value === values[0]);
        return (
          <>
            {isSame ? (
              <strong>{values[0] || '–'}</strong>
            ) : (
              props.answers.map(({ region }, index) => (
                <div key={region}>
                  <span class="note">{region}</span> <strong>{values[index] || '–'}</strong>
                </div>
              ))
            )}
            <div class="note">default {standard || '–'}</div>
          </>
        );
      },
      'mono value',
    ),
  ];
  return (
    <>
      <form class="search" onSubmit={(event) => event.preventDefault()}>
        <label class="grows">
          Find a setting
          <input
            value={chosen('setting')}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => chooseQuietly({ setting: event.currentTarget.value })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isChangedOnly}
            onChange={(event) => chooseQuietly({ changed: event.currentTarget.checked ? 'yes' : '' })}
          />
          Only those that differ from the default
        </label>
      </form>
      {rows.length === 0 ? (
        <Empty title="No setting matches" />
      ) : (
        <Table columns={columns} rows={rows} keyOf={({ name }) => name} />
      )}
    </>
  );
}
