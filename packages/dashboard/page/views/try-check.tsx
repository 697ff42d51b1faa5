import { useSignal } from '@preact/signals';
import type { LimitEntry } from '../../src/snapshot.js';
import { checkLimit, type LimitDecision } from '../live/catalogue.js';
import { exact, milliseconds } from '../parts/format.js';
import { Name } from '../parts/name.js';
import { Alert, Empty, Panel, State } from '../parts/panel.js';
import { SubjectField } from '../parts/subject-field.js';
import { head, number, Table, text } from '../parts/table.js';

/** A check as a client makes it, or one that only looks. */
export function TryCheck(props: { entry: LimitEntry }) {
  const { name, kind } = props.entry;
  const subject = useSignal('acme');
  const isPeek = useSignal(true);
  const answer = useSignal<LimitDecision | null>(null);
  const trouble = useSignal('');
  const check = async () => {
    trouble.value = '';
    try {
      answer.value = await checkLimit({ name, subject: subject.value, peek: isPeek.value });
    } catch (error) {
      answer.value = null;
      trouble.value = (error as Error).message;
    }
  };
  if (kind === 'concurrency')
    return (
      <Panel title="Try a check">
        <Empty title="This limit is on leases">
          <code>LIMIT.CHECK {name} subject LEASE id</code> takes one.
        </Empty>
      </Panel>
    );
  return (
    <Panel title="Try a check" caption="What a request of this subject is answered, parents included.">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <SubjectField label="Subject to check" subject={subject} isRequired />
        <label class="check">
          <input
            type="checkbox"
            checked={isPeek.value}
            onChange={(event) => {
              isPeek.value = event.currentTarget.checked;
            }}
          />
          Only look, charge nothing
        </label>
        <button type="submit">Check</button>
      </form>
      <div role="status">{answer.value !== null && <Answer of={answer.value} />}</div>
      <Alert text={trouble.value} />
    </Panel>
  );
}

function Answer(props: { of: LimitDecision }) {
  const { allowed, deniedBy, retryAfterMs, limits } = props.of;
  return (
    <>
      <p>
        <State dot={allowed ? 'good' : 'bad'}>
          <strong>{allowed ? 'Allowed' : 'Denied'}</strong>
          {deniedBy !== null && ` by ${deniedBy}`}
          {!allowed && retryAfterMs >= 0 && `, try again in ${milliseconds(retryAfterMs)}`}
        </State>
      </p>
      <Table columns={COLUMNS} rows={limits} keyOf={({ name }) => name} />
    </>
  );
}

type Checked = LimitDecision['limits'][number];

const COLUMNS = [
  head('Limit', ({ name }: Checked) => <Name text={name} />),
  text('Says', ({ allowed, shadow }: Checked) => `${allowed ? 'allowed' : 'denied'}${shadow ? ', in shadow' : ''}`),
  number('Left', ({ remaining, limit }: Checked) =>
    limit === -1 ? 'unlimited' : `${exact(remaining)} of ${exact(limit)}`,
  ),
];
