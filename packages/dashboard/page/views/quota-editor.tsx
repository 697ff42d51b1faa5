import { useSignal } from '@preact/signals';
import { parseDuration } from '@quotadb/wire/text';
import type { ComponentChildren } from 'preact';
import type { QuotaFigures } from '../../src/snapshot.js';
import { choose } from '../live/address.js';
import { send } from '../live/connection.js';
import { span } from '../parts/format.js';
import { Alert, Panel } from '../parts/panel.js';
import { chosenSource } from '../parts/source-choice.js';

type Lasting = 'window' | 'ever' | 'lease';

const KINDS: Readonly<Record<Lasting, string>> = {
  window: 'per window of time',
  ever: 'once, for ever',
  lease: 'leases held at once',
};
const SPAN_HELP = 'as 250ms, 60s, 5m, 1h30m or 1d';

/** Defines a quota, changes one, or drops it. The home region decides, whichever region is asked. */
export function QuotaEditor(props: { quota: QuotaFigures | undefined }) {
  const { quota } = props;
  const name = useSignal(quota?.name ?? '');
  const limit = useSignal(String(quota?.limit ?? 1000));
  const lasting = useSignal<Lasting>(lastingOf(quota));
  const length = useSignal(span(quota?.leaseMs ?? (quota?.windowMs || 60_000)));
  const trouble = useSignal('');
  const done = useSignal('');
  const isWaiting = useSignal(false);

  const act = async (work: () => Promise<string>) => {
    isWaiting.value = true;
    trouble.value = '';
    done.value = '';
    try {
      done.value = await work();
    } catch (error) {
      trouble.value = (error as Error).message;
    }
    isWaiting.value = false;
  };
  const save = () =>
    act(async () => {
      const lengthMs = lasting.value === 'ever' ? null : parseDuration(length.value.trim()) || undefined;
      if (lengthMs === undefined) throw new Error(`"${length.value}" is no span of time: write it ${SPAN_HELP}.`);
      await send('PUT', pathOf(name.value), {
        limit: Number(limit.value),
        ...(lasting.value === 'lease' ? { leaseMs: lengthMs } : { windowMs: lengthMs }),
        ...(quota !== undefined && { allocator: quota.allocator, shares: quota.shares, waitMs: quota.waitMs }),
      });
      if (quota === undefined) choose({ quota: name.value, subject: '', edit: '' });
      return `${name.value} is ${quota === undefined ? 'defined' : 'changed'}.`;
    });
  const drop = () =>
    act(async () => {
      await send('DELETE', pathOf(name.value));
      choose({ quota: '', subject: '', edit: '' });
      return `${name.value} is dropped.`;
    });

  return (
    <Panel
      title={quota === undefined ? 'Define a quota' : `Change ${quota.name}`}
      caption="Holds in all regions as soon as they hear of it."
    >
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {quota === undefined && <Field label="Name" value={name} required />}
        <Field label="Limit" value={limit} pattern="[0-9]{1,16}" required short title="a whole number" />
        <label>
          Holds
          <select
            value={lasting.value}
            onChange={(event) => {
              lasting.value = event.currentTarget.value as Lasting;
            }}
          >
            {Object.entries(KINDS).map(([kind, words]) => (
              <option key={kind} value={kind}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {lasting.value !== 'ever' && (
          <Field
            label={lasting.value === 'lease' ? 'Longest lease' : 'Window'}
            value={length}
            required
            short
            title={SPAN_HELP}
          />
        )}
        <button type="submit" disabled={isWaiting.value}>
          {isWaiting.value ? 'Saving …' : quota === undefined ? 'Define' : 'Save'}
        </button>
        {quota === undefined ? (
          <button type="button" class="quiet" onClick={() => choose({ edit: '' })}>
            Cancel
          </button>
        ) : (
          <DropButton name={quota.name} isWaiting={isWaiting.value} onDrop={() => void drop()} />
        )}
      </form>
      <p class="note" role="status">
        {done.value}
      </p>
      <Alert text={trouble.value} />
    </Panel>
  );
}

/** Asks once more: the tokens of a dropped quota are gone. */
function DropButton(props: { name: string; isWaiting: boolean; onDrop: () => void }) {
  const isAsked = useSignal(false);
  if (!isAsked.value)
    return (
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isAsked.value = true;
        }}
      >
        Drop …
      </button>
    );
  return (
    <>
      <button type="button" class="danger" disabled={props.isWaiting} onClick={props.onDrop}>
        Drop {props.name} and its tokens
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isAsked.value = false;
        }}
      >
        Keep it
      </button>
    </>
  );
}

function Field(props: {
  label: ComponentChildren;
  value: { value: string };
  pattern?: string;
  required?: boolean;
  short?: boolean;
  title?: string;
}) {
  const { label, value, short, ...rest } = props;
  return (
    <label class={short === true ? '' : 'grows'}>
      {label}
      <input
        {...rest}
        class={short === true ? 'short' : ''}
        value={value.value}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

function lastingOf(quota: QuotaFigures | undefined): Lasting {
  if (quota === undefined) return 'window';
  return quota.leaseMs !== null ? 'lease' : quota.windowMs === 0 ? 'ever' : 'window';
}

function pathOf(name: string): string {
  return `${chosenSource()?.base ?? ''}/api/v1/quotas/${encodeURIComponent(name)}`;
}
