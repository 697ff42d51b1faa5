import type { ComponentChildren } from 'preact';

export function Panel(props: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

export function Tile(props: { name: string; value: string; more?: string }) {
  return (
    <div class="tile">
      <dt>{props.name}</dt>
      <dd>
        {props.value} {props.more !== undefined && <small>{props.more}</small>}
      </dd>
    </div>
  );
}

/** A dot in a color of the page, with its meaning in words beside it. */
export function State(props: { dot: string; style?: string; children: ComponentChildren }) {
  return (
    <span class="state">
      <span class={`dot ${props.dot}`} {...(props.style !== undefined && { style: props.style })} />
      {props.children}
    </span>
  );
}

export function Alert(props: { text: string }) {
  if (props.text === '') return null;
  return (
    <p class="trouble" role="alert">
      {props.text}
    </p>
  );
}
