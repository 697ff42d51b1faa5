import { signal } from '@preact/signals';

function followQuery(query: string) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

export const isDark = followQuery('(prefers-color-scheme: dark)');
export const isNarrow = followQuery('(max-width: 640px)');
