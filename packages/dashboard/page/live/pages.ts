import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** A list that comes in pages, from one question. */
export interface Pages<Item> {
  /** Null before the first page. */
  readonly items: readonly Item[] | null;
  readonly trouble: string;
  /** Where the next page begins; empty at the end. */
  readonly cursor: string;
  readonly isLoading: boolean;
  readonly more: () => void;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor: string;
}

interface State<Item> {
  readonly items: readonly Item[] | null;
  readonly trouble: string;
  readonly cursor: string;
  readonly isLoading: boolean;
}

const NOTHING = { items: null, trouble: '', cursor: '', isLoading: false };

/** How often the search button was pressed: the same question again reads the list anew. */
const searches = signal(0);

export function searchAgain(): void {
  searches.value++;
}

/** Asks for the first page when `question` changes or is asked again. An item is shown once. */
export function usePages<Item>(
  question: string,
  ask: (cursor: string) => Promise<Page<Item>>,
  nameOf: (item: Item) => string,
): Pages<Item> {
  const state = useSignal<State<Item>>(NOTHING);
  const turn = useSignal(0);
  const asked = useSignal('');
  const load = async (cursor: string) => {
    const mine = ++turn.value;
    const before = cursor === '' ? [] : (state.value.items ?? []);
    state.value = { ...(asked.value === question ? state.value : NOTHING), isLoading: true };
    asked.value = question;
    try {
      const page = await ask(cursor);
      if (mine !== turn.value) return;
      const items = new Map([...before, ...page.items].map((item) => [nameOf(item), item]));
      state.value = { items: [...items.values()], trouble: '', cursor: page.cursor, isLoading: false };
    } catch (error) {
      if (mine === turn.value) state.value = { ...NOTHING, trouble: (error as Error).message };
    }
  };
  useEffect(() => {
    void load('');
  }, [question, searches.value]);
  return { ...state.value, more: () => void load(state.value.cursor) };
}
