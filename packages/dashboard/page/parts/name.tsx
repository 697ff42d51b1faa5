import { useSignal } from '@preact/signals';
import { cut, isLong, visibleParts, visibleText } from './visible.js';

/** A name that came from a client: hidden characters by their codes, and cut where it is long. */
export function Name(props: { text: string }) {
  return <Parts text={cut(props.text)} />;
}

/** The same, with the whole name a tap away. */
export function LongName(props: { text: string }) {
  const isWhole = useSignal(false);
  if (!isLong(props.text)) return <Parts text={props.text} />;
  return (
    <button
      type="button"
      class="name"
      aria-expanded={isWhole.value}
      aria-label={`${visibleText(props.text)}, ${isWhole.value ? 'cut' : 'show all of it'}`}
      onClick={() => {
        isWhole.value = !isWhole.value;
      }}
    >
      <Parts text={isWhole.value ? props.text : cut(props.text)} />
    </button>
  );
}

/** Isolated, so that a name in a script that runs from right to left does not turn the text around it. */
function Parts(props: { text: string }) {
  if (props.text === '') return <i class="note">empty</i>;
  return (
    <bdi>
      {visibleParts(props.text).map((part, index) =>
        part.isCode ? (
          <span key={index} class="code" title="a character that cannot be seen">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}
