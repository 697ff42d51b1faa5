import { expect, test } from 'vitest';
import { Channel, type ChannelMessage } from './channel.js';

interface Doubling {
  double: { ask: number; answer: number };
}
interface Nothing {
  note: { ask: string; answer: null };
}

test('what is asked in one go leaves together, and so do its answers, each to the one who asked', () => {
  const posts: (readonly ChannelMessage[])[] = [];
  const heard: number[] = [];
  let begun = 0;
  const here = new Channel<Nothing, Doubling>(
    (messages) => posts.push(structuredClone(messages)),
    { note: () => {} },
    () => begun++,
  );
  const there = new Channel<Doubling, Nothing>((messages) => here.receive(messages), {
    double: (number, answered) => answered(number * 2),
  });
  for (const number of [1, 2, 3]) here.ask('double', number, (answer) => heard.push(answer));
  expect(posts).toHaveLength(0);
  here.flush();
  here.flush();
  expect(posts).toHaveLength(1);
  there.receive(posts[0]);
  expect(heard).toEqual([]);
  there.flush();
  expect(heard).toEqual([2, 4, 6]);
  here.ask('double', 4);
  expect(begun).toBe(2);
});
