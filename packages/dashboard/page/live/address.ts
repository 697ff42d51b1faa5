import { signal } from '@preact/signals';

/**
 * The view and the choices on it have an address: `#keys?match=user:*&key=user:1`. A reload, a bookmark or a link
 * brings it back, and the browser's back button undoes a choice.
 */
export interface Address {
  readonly view: string;
  readonly chosen: Readonly<Record<string, string>>;
}

const FIRST_VIEW = 'overview';
/** What stays when another view is opened. */
const SHARED = ['range', 'region'];

export const address = signal(read());
addEventListener('hashchange', () => {
  address.value = read();
});

function read(): Address {
  const [view, query = ''] = location.hash.slice(1).split(/\?(.*)/s);
  return { view: view || FIRST_VIEW, chosen: Object.fromEntries(new URLSearchParams(query)) };
}

export function chosen(name: string): string {
  return address.value.chosen[name] ?? '';
}

/** The address of another view. */
export function addressOf(view: string, more: Readonly<Record<string, string>> = {}): string {
  const kept = SHARED.flatMap((name) => (chosen(name) === '' ? [] : [[name, chosen(name)] as const]));
  return print(view, { ...Object.fromEntries(kept), ...more });
}

/** Chooses something on this view; an empty text takes the choice back. */
export function choose(changes: Readonly<Record<string, string>>): void {
  location.hash = addressWith(changes);
}

/** The same without a step for the back button, for a field that is being typed in. */
export function chooseQuietly(changes: Readonly<Record<string, string>>): void {
  history.replaceState(null, '', addressWith(changes));
  address.value = read();
}

export function addressWith(changes: Readonly<Record<string, string>>): string {
  return print(address.value.view, { ...address.value.chosen, ...changes });
}

function print(view: string, choices: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value !== ''));
  return query.size === 0 ? `#${view}` : `#${view}?${query}`;
}
