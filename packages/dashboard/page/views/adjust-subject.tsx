import { useSignal } from '@preact/signals';
import type { LimitEntry } from '../../src/snapshot.js';
import { pathOfLimit } from '../live/catalogue.js';
import { send } from '../live/connection.js';
import { exact } from '../parts/format.js';
import { Alert, Panel } from '../parts/panel.js';
import { SubjectField } from '../parts/subject-field.js';

interface Reset {
  readonly refunded: number;
  readonly missing: readonly string[];
}

/** What an operator does for one subject in this window; each is an audited event. */
export function AdjustSubject(props: { entry: LimitEntry }) {
  const { name, kind } = props.entry;
  const subject = useSignal('');
  const amount = useSignal('1');
  const done = useSignal('');
  const trouble = useSignal('');
  const isWaiting = useSignal(false);
  if (kind === 'concurrency') return null;
  const post = <Answer,>(what: string, body: object) =>
    send<Answer>('POST', `${pathOfLimit(name)}/subjects/${encodeURIComponent(subject.value)}/${what}`, body);
  const acts: Readonly<Record<string, () => Promise<string>>> = {
    refund: async () => {
      const { refunded } = await post<{ refunded: number }>('refund', { amount: Number(amount.value) });
      return `${exact(refunded)} given back in this region.`;
    },
    reset: async () => {
      const { refunded, missing } = await post<Reset>('reset', {});
      const silent = missing.length === 0 ? '' : ` No answer from ${missing.join(', ')}.`;
      return `${exact(refunded)} given back in all regions.${silent}`;
    },
    extra: async () => {
      const { limit } = await post<{ limit: number }>('extra', { amount: Number(amount.value) });
      return `The limit of ${subject.value} in this window is ${exact(limit)}.`;
    },
  };
  const act = async (what: string) => {
    isWaiting.value = true;
    done.value = '';
    trouble.value = '';
    try {
      done.value = await acts[what]();
    } catch (error) {
      trouble.value = (error as Error).message;
    }
    isWaiting.value = false;
  };
  return (
    <Panel title="Help one subject" caption="In this window. Who did it is in the log and in QUOTA.EVENTS.">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void act((event.submitter as HTMLButtonElement).value);
        }}
      >
        <SubjectField label="Subject to help" subject={subject} isRequired />
        <label>
          Amount
          <input
            class="short"
            type="number"
            min="1"
            step="1"
            value={amount.value}
            required
            onInput={(event) => {
              amount.value = event.currentTarget.value;
            }}
          />
        </label>
        <div class="controls">
          <button type="submit" value="refund" disabled={isWaiting.value}>
            Refund
          </button>
          {kind === 'exact' && (
            <button type="submit" value="extra" disabled={isWaiting.value}>
              Give extra
            </button>
          )}
          <button type="submit" value="reset" disabled={isWaiting.value}>
            Reset
          </button>
        </div>
      </form>
      <p class="note" role="status">
        {done.value}
      </p>
      <Alert text={trouble.value} />
    </Panel>
  );
}
