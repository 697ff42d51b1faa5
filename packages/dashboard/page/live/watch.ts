import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const INTERVAL_MS = 1000;

export interface Watched<Value> {
  /** Null before the first answer. */
  readonly value: Value | null;
  /** Why the last question had no answer. */
  readonly trouble: string;
}

/** Asks while the component is shown, once a second or as given, and anew when `name` changes. */
export function useWatch<Value>(
  name: string,
  ask: () => Promise<Value>,
  onValue: (value: Value) => void = () => {},
  intervalMs = INTERVAL_MS,
): Watched<Value> {
  const state = useSignal<Watched<Value>>({ value: null, trouble: '' });
  useEffect(() => {
    state.value = { value: null, trouble: '' };
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const value = await ask();
        if (isOver) return;
        state.value = { value, trouble: '' };
        onValue(value);
      } catch (error) {
        if (!isOver) state.value = { value: state.value.value, trouble: (error as Error).message };
      }
      if (!isOver) timer = setTimeout(() => void look(), intervalMs);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [name]);
  return state.value;
}
