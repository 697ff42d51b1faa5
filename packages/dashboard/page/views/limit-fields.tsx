import type { Signal } from '@preact/signals';
import {
  hasField,
  LIMIT_FIELDS,
  LIMIT_KINDS,
  type LimitField,
  readLimitText,
  writeLimitField,
} from '../parts/limit-text.js';

const TEXT_FIELDS = LIMIT_FIELDS.filter((field) => field !== 'kind');

const LABELS: Readonly<Record<LimitField, string>> = {
  kind: 'Kind',
  limit: 'Limit',
  window: 'Window',
  burst: 'Burst',
  hold: 'Longest lease',
  domain: 'Domain',
  parent: 'Parent',
};

const HELP: Partial<Record<LimitField, string>> = {
  limit: 'a whole number, or unlimited',
  window: '10s 1m 1h 1d; hour day week month; none',
  burst: 'what a full bucket holds; the limit where it is empty',
  hold: '30s 5m 1h',
  domain: 'checked together with the other limits of this domain',
  parent: 'a limit that is checked too, for the subject without its last part',
};

/** The most used fields of a limit. They write its text, which has all of them, and show what it says. */
export function LimitFields(props: { text: Signal<string> }) {
  const { text } = props;
  const entry = readLimitText(text.value);
  if (entry === undefined) return null;
  const kind = String(entry.kind ?? '');
  const write = (field: LimitField, words: string) => {
    text.value = writeLimitField(text.value, field, words);
  };
  const written = (field: LimitField) => String(entry[field] ?? '');
  return (
    <div class="fields">
      <KindField kind={kind} write={(words) => write('kind', words)} />
      {TEXT_FIELDS.filter((field) => hasField(kind, field)).map((field) => (
        <label key={field}>
          {LABELS[field]}
          <input
            class="short"
            value={written(field)}
            title={HELP[field]}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => write(field, event.currentTarget.value)}
          />
        </label>
      ))}
    </div>
  );
}

function KindField(props: { kind: string; write: (words: string) => void }) {
  const { kind, write } = props;
  const isKnown = LIMIT_KINDS.some((known) => known === kind);
  return (
    <label>
      {LABELS.kind}
      <select value={kind} onChange={(event) => write(event.currentTarget.value)}>
        {!isKnown && <option value={kind}>{kind}</option>}
        {LIMIT_KINDS.map((known) => (
          <option key={known} value={known}>
            {known}
          </option>
        ))}
      </select>
    </label>
  );
}
