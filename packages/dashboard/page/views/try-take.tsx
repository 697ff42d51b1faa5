import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { QuotaFigures } from '../../src/snapshot.js';
import { choose, chosen } from '../live/address.js';
import { send } from '../live/connection.js';
import { exact, milliseconds } from '../parts/format.js';
import { Alert, Empty, Panel, State } from '../parts/panel.js';
import { chosenSource } from '../parts/source-choice.js';
import { SubjectField } from '../parts/subject-field.js';

interface Taken {
  readonly allowed: boolean;
  readonly remainingEverywhere: number;
  readonly retryAfterMs: number;
}

/** A take as a client makes it, to see what it is answered. */
export function TryTake(props: { quota: QuotaFigures }) {
  const { quota } = props;
  const subject = useSignal(chosen('subject') || 'acme');
  const cost = useSignal('1');
  const answer = useSignal<Taken | null>(null);
  const trouble = useSignal('');
  const isWaiting = useSignal(false);
  useEffect(() => {
    if (chosen('subject') !== '') subject.value = chosen('subject');
  }, [chosen('subject')]);
  const take = async () => {
    isWaiting.value = true;
    trouble.value = '';
    try {
      const path = `${chosenSource()?.base ?? ''}/api/v1/quotas/${encodeURIComponent(quota.name)}/take`;
      answer.value = await send<Taken>('POST', path, { subject: subject.value, cost: Number(cost.value) });
      if (chosen('subject') !== subject.value) choose({ quota: quota.name, subject: subject.value });
    } catch (error) {
      answer.value = null;
      trouble.value = (error as Error).message;
    }
    isWaiting.value = false;
  };
  if (quota.leaseMs !== null)
    return (
      <Panel title="Try a take">
        <Empty title="This quota limits leases">
          <code>QUOTA.ACQUIRE {quota.name} subject TTL ms</code> takes one.
        </Empty>
      </Panel>
    );
  return (
    <Panel title="Try a take" caption="A real one: the tokens are spent.">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void take();
        }}
      >
        <SubjectField label="Subject to take for" subject={subject} isRequired />
        <label>
          Cost
          <input
            class="short"
            type="number"
            min="1"
            step="1"
            value={cost.value}
            required
            onInput={(event) => {
              cost.value = event.currentTarget.value;
            }}
          />
        </label>
        <button type="submit" disabled={isWaiting.value}>
          {isWaiting.value ? 'Taking …' : 'Take'}
        </button>
      </form>
      <div role="status">{answer.value !== null && <Answer of={answer.value} />}</div>
      <Alert text={trouble.value} />
    </Panel>
  );
}

function Answer(props: { of: Taken }) {
  const { allowed, remainingEverywhere, retryAfterMs } = props.of;
  return (
    <State dot={allowed ? 'good' : 'bad'}>
      <strong>{allowed ? 'Allowed' : 'Denied'}</strong>, {exact(remainingEverywhere)} left
      {!allowed && retryAfterMs >= 0 && `, try again in ${milliseconds(retryAfterMs)}`}
    </State>
  );
}
