import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Catalogue, LimitEntry } from '../../src/snapshot.js';
import { choose } from '../live/address.js';
import { dropLimit, replaceCatalogue, setLimit, withoutName } from '../live/catalogue.js';
import { Alert, Panel } from '../parts/panel.js';
import { LimitFields } from './limit-fields.js';

const TEMPLATE = { kind: 'exact', limit: 1000, window: '1m', shadow: true };

/** A limit that there is: its modes as buttons, its most used fields as a form, everything as JSON. */
export function LimitEditor(props: { entry: LimitEntry }) {
  const { entry } = props;
  const isAsked = useSignal(false);
  // The form begins anew with the changed limit; what was done outlives it.
  const done = useSignal('');
  const set = (change: Partial<LimitEntry>) => () => setLimit(entry.name, { ...withoutName(entry), ...change });
  return (
    <JsonEditor
      key={JSON.stringify(entry)}
      title={`Change ${entry.name}`}
      label="The limit, as JSON"
      hasFields
      first={withoutName(entry)}
      saveWord="Save"
      done={done}
      onSave={async (given) => {
        await setLimit(entry.name, given);
        return `${entry.name} is changed.`;
      }}
    >
      {(act) => (
        <>
          <button type="button" onClick={() => act(set({ shadow: entry.shadow !== true }))}>
            {entry.shadow === true ? 'Enforce it' : 'Put it in shadow'}
          </button>
          <button type="button" onClick={() => act(set({ enabled: entry.enabled === false }))}>
            {entry.enabled === false ? 'Switch it on' : 'Switch it off'}
          </button>
          <button
            type="button"
            class={isAsked.value ? 'danger' : 'quiet'}
            onClick={() => {
              if (!isAsked.value) isAsked.value = true;
              else
                act(async () => {
                  await dropLimit(entry.name);
                  choose({ limit: '' });
                });
            }}
          >
            {isAsked.value ? `Drop ${entry.name}` : 'Drop …'}
          </button>
        </>
      )}
    </JsonEditor>
  );
}

export function NewLimit() {
  const name = useSignal('');
  const done = useSignal('');
  return (
    <JsonEditor
      title="Add a limit"
      label="The limit, as JSON"
      hasFields
      first={TEMPLATE}
      saveWord="Add"
      done={done}
      onSave={async (given) => {
        if (name.value === '') throw new Error('The limit needs a name.');
        await setLimit(name.value, given);
        choose({ edit: '', limit: name.value });
        return '';
      }}
      head={
        <label>
          Name of the limit
          <input
            value={name.value}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
        </label>
      }
    >
      {() => <CancelButton />}
    </JsonEditor>
  );
}

export function CatalogueEditor(props: { catalogue: Catalogue }) {
  const done = useSignal('');
  return (
    <JsonEditor
      title="Edit the catalogue"
      label="Plans and limits, as JSON"
      first={props.catalogue}
      saveWord="Replace the catalogue"
      done={done}
      onSave={async (given) => {
        await replaceCatalogue(given);
        choose({ edit: '' });
        return '';
      }}
    >
      {() => <CancelButton />}
    </JsonEditor>
  );
}

function CancelButton() {
  return (
    <button type="button" class="quiet" onClick={() => choose({ edit: '' })}>
      Cancel
    </button>
  );
}

type Act = (work: () => Promise<unknown>) => void;

/** The server finds all mistakes at once, and changes nothing while there is one. */
function JsonEditor(props: {
  title: string;
  label: string;
  first: object;
  saveWord: string;
  done: { value: string };
  onSave: (given: object) => Promise<string>;
  head?: ComponentChildren;
  /** It is one limit, and has a form for its most used fields. */
  hasFields?: boolean;
  children: (act: Act) => ComponentChildren;
}) {
  const text = useSignal(JSON.stringify(props.first, null, 2));
  const trouble = useSignal('');
  const { done } = props;
  const isWaiting = useSignal(false);
  const act: Act = async (work) => {
    isWaiting.value = true;
    trouble.value = '';
    try {
      done.value = String((await work()) ?? '');
    } catch (error) {
      trouble.value = (error as Error).message;
    }
    isWaiting.value = false;
  };
  const lines = text.value.split('\n').length;
  return (
    <Panel title={props.title} caption="Holds in all regions as soon as they hear of it.">
      <form
        class="json"
        onSubmit={(event) => {
          event.preventDefault();
          act(() => props.onSave(parse(text.value)));
        }}
      >
        {props.head}
        {props.hasFields === true && <LimitFields text={text} />}
        <label>
          {props.label}
          <textarea
            class="mono"
            rows={Math.min(30, Math.max(6, lines + 1))}
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>
        <div class="controls">
          <button type="submit" disabled={isWaiting.value}>
            {isWaiting.value ? 'Saving …' : props.saveWord}
          </button>
          {props.children(act)}
        </div>
      </form>
      <p class="note" role="status">
        {done.value}
      </p>
      <Alert text={trouble.value} />
    </Panel>
  );
}

function parse(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}`);
  }
}
