import { expect, test } from 'vitest';
import { OccasionalLog } from './occasional-log.js';

test('the same is said once a minute, with how often it was not; something else is said at once', () => {
  let nowMs = 0;
  const said: [string, number][] = [];
  const log = new OccasionalLog(() => nowMs);
  const say = (what: string) => log.say(what, (suppressed) => said.push([what, suppressed]));
  for (let time = 0; time < 3; time++) say('eu is away');
  say('ap is away');
  nowMs = 60_000;
  say('eu is away');
  expect(said).toEqual([
    ['eu is away', 0],
    ['ap is away', 0],
    ['eu is away', 2],
  ]);
  log.reset('eu ');
  say('eu is away');
  say('ap is away');
  expect(said.slice(3)).toEqual([
    ['eu is away', 0],
    ['ap is away', 0],
  ]);
});
