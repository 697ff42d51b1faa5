import type { Signal } from '@preact/signals';

/** As long as the server takes a subject. */
const MAXIMUM_CHARACTERS = 1024;

/** A labelled field for the subject of a quota or a limit. */
export function SubjectField(props: { label: string; subject: Signal<string>; isRequired?: boolean }) {
  const { label, subject, isRequired = false } = props;
  return (
    <label class="grows">
      {label}
      <input
        value={subject.value}
        spellcheck={false}
        autocomplete="off"
        maxLength={MAXIMUM_CHARACTERS}
        required={isRequired}
        onInput={(event) => {
          subject.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
