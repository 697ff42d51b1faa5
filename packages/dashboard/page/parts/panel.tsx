import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isNarrow } from './screen.js';

export function Panel(props: {
  title: string;
  /** Whose figures these are, of when. */
  caption?: ComponentChildren;
  /** Beside the title. */
  tools?: ComponentChildren;
  /** What it shows of a list that stands elsewhere: on a phone the page moves to it when another is chosen. */
  shows?: string;
  children: ComponentChildren;
}) {
  const section = useRef<HTMLElement>(null);
  const shown = useRef(props.shows);
  useEffect(() => {
    if (shown.current !== props.shows && isNarrow.value) section.current?.scrollIntoView();
    shown.current = props.shows;
  }, [props.shows]);
  return (
    <section class="panel" aria-label={props.title} ref={section}>
      <header>
        <h2>{props.title}</h2>
        {props.tools}
      </header>
      {props.caption !== undefined && <p class="caption">{props.caption}</p>}
      {props.children}
    </section>
  );
}

export function Tile(props: { name: string; value: string; more?: string; state?: 'warn' | 'bad' | undefined }) {
  return (
    <div class="tile">
      <dt>{props.name}</dt>
      <dd class={props.state ?? ''}>{props.value}</dd>
      {props.more !== undefined && <dd class="more">{props.more}</dd>}
    </div>
  );
}

/** A dot in a color of the page, with its meaning in words beside it. */
export function State(props: { dot: string; style?: string; children: ComponentChildren }) {
  return (
    <span class="state">
      <span class={`dot ${props.dot}`} {...(props.style !== undefined && { style: props.style })} />
      <span>{props.children}</span>
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

/** In place of figures that there are none of, or not yet. */
export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="nothing" role="status">
      <strong>{props.title}</strong>
      {Boolean(props.children) && <p>{props.children}</p>}
    </div>
  );
}

export function Loading(props: { what: string }) {
  return (
    <div class="nothing loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {props.what} …
    </div>
  );
}
