import type { ComponentChildren } from 'preact';

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

export function Panel(props: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}
